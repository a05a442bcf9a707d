"""Turkish."""

from __future__ import annotations

from mbert_atlas.miniature.language import Features, Language, Word, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing

_VOWELS = "aıoueiöü"
_VOICELESS = "fstkçşhp"


def low(form: str) -> str:
    """Return the vowel of low endings that is in harmony with ``form``."""
    return "a" if _last_vowel(form) in "aıou" else "e"


def high(form: str) -> str:
    """Return the vowel of high endings that is in harmony with ``form``."""
    return {"a": "ı", "ı": "ı", "o": "u", "u": "u", "e": "i", "i": "i", "ö": "ü", "ü": "ü"}[
        _last_vowel(form)
    ]


def _last_vowel(form: str) -> str:
    return next(letter for letter in reversed(form.lower()) if letter in _VOWELS)


class Turkish(Language):
    """Verb last; case, possession and negation are endings in vowel harmony."""

    code, name, script = "tr", "Turkish", "LATIN"
    namespaces = ("Dosya", "Şablon", "Kategori")
    clause_order, fronted_order, subordinate_order = "STPMOAVNC", "TSPMOAVNC", "STPMOAVNC"
    phrase_order = "GXQADH"
    head_final = True
    interrogatives = table("who kim kimi; what ne neyi; where nerede")

    # a second form is the stem before vowels
    nouns = table("""
        person kişi; man adam; woman kadın; boy oğlan; girl kız; teacher öğretmen; doctor doktor
        student öğrenci; farmer çiftçi; king kral; writer yazar; soldier asker; merchant tüccar
        animal hayvan; dog köpek köpeğ; cat kedi; horse at; bird kuş; cow inek ineğ
        wolf kurt kurd; bear ayı; place yer; city şehir şehr; village köy; school okul
        hospital hastane; house ev; garden bahçe; market pazar; forest orman; island ada
        castle kale; fruit meyve; apple elma; orange portakal; lemon limon; pear armut armud
        text metin metn; book kitap kitab; letter mektup mektub; newspaper gazete; story öykü
        tool alet; knife bıçak bıçağ; hammer çekiç çekic; axe balta; object eşya; table masa
        chair sandalye; box kutu; lamp lamba; clock çan; plant bitki; tree ağaç ağac
        flower çiçek çiçeğ; rose gonca; vehicle taşıt; car araba; boat tekne; bicycle bisiklet
    """)
    names = table("""
        anna Anna; maria Maria; sara Sara; omar Ömer; ivan İvan; lucas Lukas; paris Paris
        berlin Berlin; moscow Moskova; delhi Delhi; madrid Madrid; cairo Kahire; india Hindistan
        egypt Mısır; siemens Siemens; toyota Toyota; airbus Airbus; reuters Reuters
    """)
    # stem and third person of the present
    verbs = table("""
        see gör görüyor; find bul buluyor; love sev seviyor; hate kına kınıyor; visit gez geziyor
        follow izle izliyor; know tanı tanıyor; buy satın_al satın_alıyor; sell sat satıyor
        read oku okuyor; write yaz yazıyor; eat ye yiyor; carry taşı taşıyor; open aç açıyor
        close kapat kapatıyor; paint boya boyuyor; sleep uyu uyuyor; work çalış çalışıyor
        run koş koşuyor; walk yürü yürüyor; play oyna oynuyor; laugh gül gülüyor
        cry ağla ağlıyor; sing şarkı_söyle şarkı_söylüyor; wait bekle bekliyor; swim yüz yüzüyor
        arrive gel geliyor; leave git gidiyor; dance dans_et dans_ediyor
    """)
    adjectives = table("""
        big büyük; small küçük; old eski; young genç; good iyi; bad kötü; happy mutlu; sad üzgün
        strong güçlü; weak zayıf; beautiful güzel; ugly çirkin; tired yorgun; hungry aç
        rich zengin; poor fakir; famous ünlü; new yeni; black siyah; white beyaz; red kırmızı
        green yeşil; clean temiz; dirty kirli; long uzun; short kısa; heavy ağır; light hafif
        expensive pahalı; cheap ucuz; quiet sessiz
    """)
    others = table("""
        now şimdi; today bugün; yesterday dün; often sıkça; always daima; sometimes bazen
        quickly hızla; slowly yavaşça; quietly usulca; carefully dikkatle; very çok; he o; she o
        they onlar; three üç; four dört; five beş; seven yedi; ten on; indefinite bir; this bu
        many birçok; and ve; but ama; because çünkü; not değil
    """)
    adpositions = patterns("""
        in loc _; near nom _ yakınında; with nom _ ile; for nom _ için; of gen _; to dat _
        from abl _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Add number, possession and case."""
        form, *stem = self.entry(noun)
        before_vowel = stem[0] if stem else form
        if features.plural and not features.counted and features.determiner != "many":
            form = before_vowel = f"{form}l{low(form)}r"
        if features.owned:
            form = before_vowel + ("" if before_vowel[-1] not in _VOWELS else "s") + high(form)
            before_vowel = form
        return self.with_case(form, before_vowel, features)

    def with_case(self, form: str, before_vowel: str, features: Features) -> str:
        """Add the ending of the case."""
        case = features.case
        if case == "nom" or (case == "acc" and features.determiner not in ("definite", "this", "")):
            return form
        vowel_final = form[-1] in _VOWELS
        if case in ("loc", "abl"):
            buffer = "n" if features.owned else ""
            consonant = "t" if not buffer and form[-1] in _VOICELESS else "d"
            return form + buffer + consonant + low(form) + ("n" if case == "abl" else "")
        buffer = (
            "n" if features.owned or (case == "gen" and vowel_final) else "y" if vowel_final else ""
        )
        vowel = low(form) if case == "dat" else high(form)
        return before_vowel + buffer + vowel + ("n" if case == "gen" else "")

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return ``bir``, the demonstrative, quantifier or numeral."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many"), "DET", "det")]
        if determiner == "this":
            return [("X", self.other("this"), "DET", "det")]
        if determiner == "indefinite" and not features.plural:
            return [("D", self.other("indefinite"), "DET", "det")]
        return []

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Build tense, negation and number into one word."""
        stem, present = self.verbs[clause.predicate]
        sources: tuple[str, ...] = (path + ".predicate",)
        if clause.negated:
            sources += (path + ".negation",)
            form = (
                f"{stem}m{low(stem)}d{high(low(stem))}"
                if clause.past
                else f"{stem}m{high(stem)}yor"
            )
        elif clause.past:
            form = stem + ("t" if stem[-1] in _VOICELESS else "d") + high(stem)
        else:
            form = present
        if features.plural and not features.counted and features.determiner != "many":
            form += f"l{low(form)}r"
        words = self.lexeme(form, stem, "VERB", sources)
        return {"V": words}, self.head_of(words)

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Put the past on the predicate, or on ``değil`` under negation."""
        slots, head = super().nominal(clause, features, path)
        bearer = slots["N"][0] if clause.negated else head
        if clause.negated:
            bearer.upos, bearer.relation = "AUX", "aux"
        if clause.past:
            form = bearer.form
            consonant = "t" if form[-1] in _VOICELESS else "d"
            bearer.form = form + ("y" if form[-1] in _VOWELS else "") + consonant + high(form)
        return slots, head

    def capitalised(self, form: str) -> str:
        """Return ``form`` with a capital; that of ``i`` keeps its dot."""
        return "İ" + form[1:] if form[0] == "i" else super().capitalised(form)
