"""Arabic, without vowel signs."""

from __future__ import annotations

from mbert_atlas.miniature.language import Features, Language, Word, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing, is_adjective


class Arabic(Language):
    """Verb first; the article is a prefix; ``and`` and ``for`` are written on to the next word."""

    code, name, script = "ar", "Arabic", "ARABIC"
    namespaces = ("ملف", "قالب", "تصنيف")
    articles = True
    clause_order, fronted_order, subordinate_order = "NCVSAOMPT", "TNCVSAOMP", "SNCVAOMPT"
    phrase_order = "XQHGA"
    comma = "،"
    question_marks = "", "؟"
    interrogatives = table("who من من; what ماذا ماذا; where أين")
    question_orders = "SVOMPT", "OVSMPT", "TVSOMP"
    intensifier_after = True

    nouns = table("""
        person شخص m أشخاص; man رجل m رجال; woman امرأة f نساء; boy ولد m أولاد; girl بنت f بنات
        teacher معلم m معلمون; doctor طبيب m أطباء; student طالب m طلاب; farmer فلاح m فلاحون
        king ملك m ملوك; writer أديب m أدباء; soldier جندي m جنود; merchant تاجر m تجار
        animal حيوان m حيوانات; dog كلب m كلاب; cat قطة f قطط; horse حصان m أحصنة
        bird طائر m طيور; cow بقرة f أبقار; wolf ذئب m ذئاب; bear دب m دببة; place مكان m أماكن
        city مدينة f مدن; village قرية f قرى; school مدرسة f مدارس; hospital مستشفى m مستشفيات
        house بيت m بيوت; garden حديقة f حدائق; market سوق m أسواق; forest غابة f غابات
        island جزيرة f جزر; castle قلعة f قلاع; fruit فاكهة f فواكه; apple تفاحة f تفاحات
        orange برتقالة f برتقالات; lemon ليمونة f ليمونات; pear إجاصة f إجاصات; text نص m نصوص
        book كتاب m كتب; letter رسالة f رسائل; newspaper صحيفة f صحف; story قصة f قصص
        tool أداة f أدوات; knife سكين m سكاكين; hammer مطرقة f مطارق; axe فأس f فؤوس
        object غرض m أغراض; table طاولة f طاولات; chair كرسي m كراسي; box صندوق m صناديق
        lamp مصباح m مصابيح; clock ساعة f ساعات; plant نبات m نباتات; tree شجرة f أشجار
        flower زهرة f زهور; rose وردة f ورود; vehicle مركبة f مركبات; car سيارة f سيارات
        boat قارب m قوارب; bicycle دراجة f دراجات
    """)
    names = table("""
        anna آنا f; maria ماريا f; sara سارة f; omar عمر m; ivan إيفان m; lucas لوكاس m
        paris باريس f; berlin برلين f; moscow موسكو f; delhi دلهي f; madrid مدريد f
        cairo القاهرة f; india الهند f; egypt مصر f; siemens سيمنز f; toyota تويوتا f
        airbus إيرباص f; reuters رويترز f
    """)
    # past and present of he
    verbs = table("""
        see رأى يرى; find وجد يجد; love أحب يحب; hate كره يكره; visit زار يزور; follow تبع يتبع
        know عرف يعرف; buy اشترى يشتري; sell باع يبيع; read قرأ يقرأ; write كتب يكتب
        eat أكل يأكل; carry حمل يحمل; open فتح يفتح; close أغلق يغلق; paint رسم يرسم
        sleep نام ينام; work عمل يعمل; run ركض يركض; walk مشى يمشي; play لعب يلعب; laugh ضحك يضحك
        cry بكى يبكي; sing غنى يغني; wait انتظر ينتظر; swim سبح يسبح; arrive وصل يصل
        leave رحل يرحل; dance رقص يرقص
    """)
    # masculine, plural of persons, feminine if it is not in ة
    adjectives = table("""
        big كبير كبار; small صغير صغار; old قديم قدماء; young شاب شباب; good جيد جيدون
        bad سيئ سيئون; happy سعيد سعداء; sad حزين حزينون; strong قوي أقوياء; weak ضعيف ضعفاء
        beautiful جميل جميلون; ugly قبيح قبيحون; tired متعب متعبون; hungry جائع جائعون
        rich غني أغنياء; poor فقير فقراء; famous مشهور مشهورون; new جديد جدد
        black أسود سود سوداء; white أبيض بيض بيضاء; red أحمر حمر حمراء; green أخضر خضر خضراء
        clean نظيف نظيفون; dirty وسخ وسخون; long طويل طوال; short قصير قصار; heavy ثقيل ثقال
        light خفيف خفاف; expensive ثمين ثمينون; cheap رخيص رخاص; quiet هادئ هادئون
    """)
    others = table("""
        now الآن; today اليوم; yesterday أمس; often غالبا; always دائما; sometimes أحيانا
        quickly بسرعة; slowly ببطء; quietly بهدوء; carefully بحذر; very جدا; he هو; she هي
        they هم; three ثلاثة ثلاث; four أربعة أربع; five خمسة خمس; seven سبعة سبع; ten عشرة عشر
        this هذا هذه هؤلاء; many عدة; and و; but لكن; because لأن; not لا لم ليس ليست
        be كان كانت يكن تكن
    """)
    adpositions = patterns("""
        in gen في _; near gen قرب _; with gen مع _; for gen ل+ _; of gen _; to gen إلى _
        from gen من _
    """)

    def definite(self, form: str) -> str:
        """Put the article before a form."""
        return "ال" + form.removeprefix("ا" if form.startswith("امر") else "")

    def in_case(self, plural: str, features: Features) -> str:
        """Return a plural; only those in ``ون`` show their case."""
        return (
            plural
            if features.case == "nom"
            else plural.removesuffix("ون") + "ين" * plural.endswith("ون")
        )

    def noun(self, noun: str, features: Features) -> str:
        """Return the noun in its number; the article gives way to an owner."""
        if noun in self.names:
            return self.names[noun][0]
        singular, _, plural = self.nouns[noun]
        form = self.in_case(plural, features) if features.plural else singular
        if features.determiner in ("definite", "this") and not features.owned:
            return self.definite(form)
        return form

    def feminine(self, features: Features) -> bool:
        """Say whether agreement is that of a feminine singular, as for all plurals of things."""
        if features.plural:
            return not features.human
        return features.gender == "f"

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Return the adjective, with the article after a definite noun."""
        masculine, plural, *feminine = self.adjectives[adjective]
        if self.feminine(features):
            form = feminine[0] if feminine else masculine + "ة"
        else:
            form = self.in_case(plural, features) if features.plural else masculine
        definite = attributive and features.determiner in ("definite", "this")
        return self.definite(form) if definite else form

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return the demonstrative, quantifier or numeral; numerals take the other gender."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", self.other(determiner, features.gender == "f"), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many"), "DET", "det")]
        if determiner == "this":
            persons = features.plural and features.human
            return [
                ("X", self.other("this", 2 if persons else self.feminine(features)), "DET", "det")
            ]
        return []

    def link(self, connective: str, source: str, clausal: bool) -> list[Word]:
        """Write ``and`` on to the next word."""
        words = super().link(connective, source, clausal)
        if connective == "and":
            words[-1].joined = "fused"
        return words

    def fuse(self, first: str, second: str) -> str:
        """Write two words as one; ``for`` swallows the first letter of the article."""
        return first + (second[1:] if first.endswith("ل") and second.startswith("ال") else second)

    def clause(self, clause: Clause, path: str, order: str) -> tuple[list[Word], Word]:
        """Let the verb agree in number only with a subject that stands before it."""
        words, head = super().clause(clause, path, order)
        subject = clause.subject
        features = self.features(subject, "nom")
        several = (subject.plural or subject.partner is not None) and features.human
        if several and head.upos == "VERB" and order == self.subordinate_order:
            stem = head.form
            if clause.past:
                head.form = stem.removesuffix("ى") + "وا"
            else:
                head.form = stem.removesuffix("ى").removesuffix("ي") + "ون"
        return words, head

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the verb in the gender of its subject."""
        perfect, imperfect = self.verbs[verb]
        # before a plural of persons the verb is singular and shows the gender of the first of them
        feminine = features.gender == "f" if features.human else self.feminine(features)
        if past:
            return perfect.removesuffix("ى") + "ت" if feminine else perfect
        return "ت" + imperfect[1:] if feminine else imperfect

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Deny the past with ``لم`` and the present form of the verb."""
        form = self.verb(clause.predicate, clause.past and not clause.negated, features)
        head = Word(form, self.verbs[clause.predicate][0], "VERB", "", (path + ".predicate",))
        slots = {"V": [head]}
        if clause.negated:
            slots["N"] = [self.negation(path, head, clause.past)]
        return slots, head

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Join subject and predicate without a copula in the present; ``ليس`` denies it."""
        slots, head = super().nominal(clause, features, path)
        feminine = (
            self.feminine(features) if is_adjective(clause.predicate) else features.gender == "f"
        )
        if clause.past:
            form = self.other("be", feminine + 2 * clause.negated)
            slots["C"] = [Word(form, "كان", "AUX", "cop", (path + ".copula",), head)]
        if clause.negated and clause.past:
            slots["N"] = [self.negation(path, head, 1)]
        elif clause.negated:
            slots["N"] = [self.negation(path, head, 2 + feminine, "AUX", "cop")]
        return slots, head
