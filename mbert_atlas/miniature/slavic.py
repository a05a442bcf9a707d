"""Russian and Bulgarian."""

from __future__ import annotations

from mbert_atlas.miniature.language import Features, Language, Word, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing, is_adjective

_HUSHED = "гкхжчшщ"


class Russian(Language):
    """Five of the cases, animate accusatives, no articles and no copula in the present."""

    code, name, script = "ru", "Russian", "CYRILLIC"
    namespaces = ("Файл", "Шаблон", "Категория")
    clause_order, fronted_order = "SNCVAOMPT", "TSNCVAOMP"
    subordinate_order = clause_order
    phrase_order = "XDQAHG"
    interrogatives = table("who кто кого; what что что; where где")
    question_orders = clause_order, "OSVMPT", "TSVOMP"

    # after the gender: s= oblique stem, p= nominative plural, g= genitive plural
    nouns = table("""
        person человек m p=люди g=людей; man мужчина m; woman женщина f; boy мальчик m
        girl девочка f g=девочек; teacher учитель m; doctor врач m; student студент m
        farmer фермер m; king король m s=корол; writer писатель m; soldier солдат m g=солдат
        merchant торговец m s=торговц; animal зверь m; dog собака f; cat кошка f g=кошек
        horse лошадь f; bird птица f; cow корова f; wolf волк m; bear медведь m; place место n
        city город m p=города; village деревня f g=деревень; school школа f; hospital больница f
        house дом m p=дома; garden сад m; market рынок m s=рынк; forest лес m p=леса
        island остров m p=острова; castle замок m s=замк; fruit фрукт m; apple яблоко n p=яблоки
        orange апельсин m; lemon лимон m; pear груша f; text текст m; book книга f
        letter письмо n g=писем; newspaper газета f; story рассказ m; tool инструмент m
        knife нож m; hammer молоток m s=молотк; axe топор m; object предмет m; table стол m
        chair стул m p=стулья g=стульев; box коробка f g=коробок; lamp лампа f; clock будильник m
        plant растение n; tree дерево n p=деревья g=деревьев; flower цветок m s=цветк p=цветы
        rose роза f; vehicle машина f; car автомобиль m; boat лодка f g=лодок
        bicycle велосипед m
    """)
    names = table("""
        anna Анна f; maria Мария f; sara Сара f; omar Омар m; ivan Иван m; lucas Лукас m
        paris Париж m; berlin Берлин m; moscow Москва f; delhi Дели n; madrid Мадрид m
        cairo Каир m; india Индия f; egypt Египет m s=Египт; siemens Сименс m; toyota Тойота f
        airbus Эйрбас m; reuters Рейтер m
    """)
    verbs = table("""
        see видит видят видел; find находит находят находил; love любит любят любил
        hate ненавидит ненавидят ненавидел; visit посещает
        follow преследует преследуют преследовал; know знает; buy покупает
        sell продаёт продают продавал; read читает; write пишет пишут писал; eat ест едят ел
        carry носит носят носил; open открывает; close закрывает; paint рисует рисуют рисовал
        sleep спит спят спал; work работает; run бежит бегут бежал; walk гуляет; play играет
        laugh смеётся смеются смеялся; cry плачет плачут плакал; sing поёт поют пел
        wait ждёт ждут ждал; swim плавает; arrive приезжает; leave уезжает
        dance танцует танцуют танцевал
    """)
    adjectives = table("""
        big большой; small маленький; old старый; young молодой; good хороший; bad плохой
        happy весёлый; sad грустный; strong сильный; weak слабый; beautiful красивый
        ugly уродливый; tired усталый; hungry голодный; rich богатый; poor бедный
        famous известный; new новый; black чёрный; white белый; red красный; green зелёный
        clean чистый; dirty грязный; long длинный; short короткий; heavy тяжёлый; light лёгкий
        expensive дорогой; cheap дешёвый; quiet тихий
    """)
    others = table("""
        now сейчас; today сегодня; yesterday вчера; often часто; always всегда; sometimes иногда
        quickly быстро; slowly медленно; quietly тихо; carefully осторожно; very очень; he он
        she она; they они; three три; four четыре; five пять; seven семь; ten десять; this этот
        many много; and и; but но; because потому_что; not не; be был была было были
    """)
    adpositions = patterns("""
        in loc в _; near gen около _; with ins с _; for gen для _; of gen _; to gen до _
        from gen из _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Decline a noun; after numbers it stands in the genitive."""
        form, gender, *rest = self.entry(noun)
        irregular = {field[0]: field[2:] for field in rest}
        case, plural = features.case, features.plural
        if features.determiner in ("three", "four"):
            case, plural = "gen", False
        elif features.counted or features.determiner == "many":
            case, plural = "gen", True
        if case == "acc" and gender == "n":
            case = "nom"
        if plural:
            return self.plural(form, gender, irregular, case, features.animate)
        return self.singular(form, gender, irregular, case, features.animate)

    def singular(
        self, form: str, gender: str, irregular: dict[str, str], case: str, animate: bool
    ) -> str:
        """Decline a singular."""
        if case == "nom" or form.endswith("и"):
            return form
        stem, last = irregular.get("s", form[:-1]), form[-1]
        if last == "а":
            soft = form[-2] in "жчшщц"
            y = "и" if form[-2] in _HUSHED else "ы"
            return stem + {"acc": "у", "gen": y, "loc": "е", "ins": "ей" if soft else "ой"}[case]
        if last == "я":
            return (
                stem
                + {"acc": "ю", "gen": "и", "loc": "и" if form[-2] == "и" else "е", "ins": "ей"}[
                    case
                ]
            )
        if last == "ь" and gender == "f":
            return {"acc": form, "gen": stem + "и", "loc": stem + "и", "ins": form + "ю"}[case]
        if last == "ь":
            return {
                "acc": stem + "я" if animate else form,
                "gen": stem + "я",
                "loc": stem + "е",
                "ins": stem + "ем",
            }[case]
        if last == "о":
            return stem + {"gen": "а", "loc": "е", "ins": "ом"}[case]
        if last == "е":
            return stem + {"gen": "я", "loc": "и", "ins": "ем"}[case]
        stem = irregular.get("s", form)
        soft = form[-1] == "ц"
        return {
            "acc": stem + "а" if animate else form,
            "gen": stem + "а",
            "loc": stem + "е",
            "ins": stem + ("ем" if soft else "ом"),
        }[case]

    def plural(
        self, form: str, gender: str, irregular: dict[str, str], case: str, animate: bool
    ) -> str:
        """Decline a plural."""
        last = form[-1]
        stem = irregular.get("s", form if last not in "аяьое" else form[:-1])
        soft = last in "яье"
        nominative = irregular.get("p")
        if nominative is None:
            if gender == "n":
                nominative = stem + ("я" if soft else "а")
            else:
                nominative = stem + ("и" if soft or stem[-1] in _HUSHED else "ы")
        if case == "nom" or (case == "acc" and not animate):
            return nominative
        if case in ("acc", "gen"):
            if "g" in irregular:
                return irregular["g"]
            if last in "ао":
                return stem
            if form.endswith("ие"):
                return stem + "й"
            if soft or stem[-1] in "жчшщ":
                return stem + "ей"
            return stem + ("ев" if stem[-1] == "ц" else "ов")
        base = nominative[:-1]
        soft = soft or nominative[-1] in "я" or nominative.endswith("ди")
        return base + ("я" if soft else "а") + {"loc": "х", "ins": "ми"}[case]

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return the demonstrative, quantifier or numeral."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many"), "DET", "det")]
        if determiner == "this":
            return [("X", self.this(features), "DET", "det")]
        return []

    def this(self, features: Features) -> str:
        """Decline ``этот``."""
        case = features.case
        if case == "acc" and not (features.gender == "f" and not features.plural):
            animate = features.animate and (features.plural or features.gender == "m")
            case = "gen" if animate else "nom"
        kind = "pl" if features.plural else features.gender
        return {
            "pl": {"nom": "эти", "gen": "этих", "loc": "этих", "ins": "этими"},
            "f": {"nom": "эта", "acc": "эту", "gen": "этой", "loc": "этой", "ins": "этой"},
            "m": {"nom": "этот", "gen": "этого", "loc": "этом", "ins": "этим"},
            "n": {"nom": "это", "gen": "этого", "loc": "этом", "ins": "этим"},
        }[kind][case]

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Decline an adjective; predicates stand in the nominative."""
        form = self.adjectives[adjective][0]
        stem = form[:-2]
        case, plural = features.case if attributive else "nom", features.plural
        if attributive and (features.counted or features.determiner == "many"):
            case, plural = "gen", True
        y = "и" if stem[-1] in _HUSHED else "ы"
        o = "е" if stem[-1] in "жчшщ" and not form.endswith("ой") else "о"
        gender = features.gender
        if case == "acc" and not (gender == "f" and not plural):
            case = "gen" if features.animate and (plural or gender == "m") else "nom"
        if plural:
            return stem + y + {"nom": "е", "gen": "х", "loc": "х", "ins": "ми"}[case]
        if gender == "f":
            return stem + {"nom": "ая", "acc": "ую"}.get(case, o + "й")
        if case == "nom":
            return form if gender == "m" else stem + o + "е"
        return stem + {"gen": o + "го", "loc": o + "м", "ins": y + "м"}[case]

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the third person of the present, or the past in gender and number."""
        forms = self.verbs[verb]
        if len(forms) == 1:
            forms = (forms[0], forms[0][:-2] + "ют", forms[0][:-2] + "л")
        if not past:
            return forms[features.plural]
        stem, reflexive = forms[2].removesuffix("ся"), forms[2].endswith("ся")
        if features.plural:
            return stem + "и" + ("сь" if reflexive else "")
        if features.gender == "m":
            return forms[2]
        return stem + ("а" if features.gender == "f" else "о") + ("сь" if reflexive else "")

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Write a dash where a copula between nouns is left out."""
        slots, head = super().nominal(clause, features, path)
        if not (is_adjective(clause.predicate) or clause.past or clause.negated):
            slots["C"] = [Word("—", "—", "PUNCT", "punct", (), head)]
        return slots, head

    def copula(self, clause: Clause, features: Features) -> str:
        """Return ``был`` and kin in the past and nothing in the present."""
        if clause.past:
            return self.other("be", 3 if features.plural else "mfn".index(features.gender))
        return ""


class Bulgarian(Language):
    """No cases; the article is an ending of the first word of the noun phrase."""

    code, name, script = "bg", "Bulgarian", "CYRILLIC"
    namespaces = ("Файл", "Шаблон", "Категория")
    articles = True
    clause_order, fronted_order = "SNCVAOMPT", "TSNCVAOMP"
    subordinate_order = clause_order
    phrase_order = "XDQAHG"
    interrogatives = table("who кой кого; what какво какво; where къде")
    question_orders = clause_order, "OVSMPT", "TVSOMP"

    nouns = table("""
        person човек m хора; man мъж m мъже; woman жена f жени; boy момче n момчета
        girl момиче n момичета; teacher учител m учители; doctor лекар m лекари
        student ученик m ученици; farmer земеделец m земеделци; king крал m крале
        writer писател m писатели; soldier войник m войници; merchant търговец m търговци
        animal животно n животни; dog куче n кучета; cat котка f котки; horse кон m коне
        bird птица f птици; cow крава f крави; wolf вълк m вълци; bear мечка f мечки
        place място n места; city град m градове; village село n села; school училище n училища
        hospital болница f болници; house къща f къщи; garden градина f градини
        market пазар m пазари; forest гора f гори; island остров m острови; castle замък m замъци
        fruit плод m плодове; apple ябълка f ябълки; orange портокал m портокали
        lemon лимон m лимони; pear круша f круши; text текст m текстове; book книга f книги
        letter писмо n писма; newspaper вестник m вестници; story приказка f приказки
        tool уред m уреди; knife нож m ножове; hammer чук m чукове; axe брадва f брадви
        object предмет m предмети; table маса f маси; chair стол m столове; box кутия f кутии
        lamp лампа f лампи; clock часовник m часовници; plant растение n растения
        tree дърво n дървета; flower цвете n цветя; rose роза f рози; vehicle превоз m превози
        car кола f коли; boat лодка f лодки; bicycle колело n колела
    """)
    names = table("""
        anna Анна f; maria Мария f; sara Сара f; omar Омар m; ivan Иван m; lucas Лукас m
        paris Париж m; berlin Берлин m; moscow Москва f; delhi Делхи n; madrid Мадрид m
        cairo Кайро n; india Индия f; egypt Египет m; siemens Сименс m; toyota Тойота f
        airbus Еърбъс m; reuters Ройтерс m
    """)
    verbs = table("""
        see вижда; find намира; love обича; hate мрази мразят мразеше; visit посещава
        follow следва; know познава; buy купува; sell продава; read чете четат четеше
        write пише пишат пишеше; eat яде ядат ядеше; carry носи носят носеше
        open отваря отварят отваряше; close затваря затварят затваряше; paint рисува
        sleep спи спят спеше; work работи работят работеше; run тича; walk върви вървят вървеше
        play играе играят играеше; laugh ликува; cry плаче плачат плачеше; sing пее пеят пееше
        wait чака; swim плува; arrive пристига; leave заминава; dance танцува
    """)
    adjectives = table("""
        big голям голям големи; small малък малк; old стар; young млад; good добър добр; bad лош
        happy весел; sad тъжен тъжн; strong силен силн; weak слаб; beautiful красив
        ugly грозен грозн; tired уморен; hungry гладен гладн; rich богат; poor беден бедн
        famous прочут; new нов; black черен черн; white бял бял бели; red червен; green зелен
        clean чист; dirty мръсен мръсн; long дълъг дълг; short къс; heavy тежък тежк; light лек
        expensive скъп; cheap евтин; quiet тих
    """)
    others = table("""
        now сега; today днес; yesterday вчера; often често; always винаги; sometimes понякога
        quickly бързо; slowly бавно; quietly тихо; carefully внимателно; very много; he той
        she тя; they те; three три; four четири; five пет; seven седем; ten десет
        this този тази това тези; many много; and и; but но; because защото; not не
        be е са беше бяха
    """)
    adpositions = patterns("""
        in obl в _; near obl край _; with obl с _; for obl за _; of obl на _; to obl към _
        from obl от _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Return the noun, with the article unless an adjective carries it."""
        if noun in self.names:
            return self.names[noun][0]
        singular, gender, plural = self.nouns[noun]
        form = plural if features.plural else singular
        if features.determiner != "definite" or features.modified:
            return form
        if features.plural:
            return form + ("те" if form[-1] in "ие" else "та")
        if gender == "f":
            return form + "та"
        if gender == "n":
            return form + "то"
        soft = form.endswith(("тел", "ар", "кон", "крал"))
        return (
            form + ("ят" if soft else "ът")
            if features.case == "nom"
            else form + ("я" if soft else "а")
        )

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Return the adjective, with the article of a definite noun phrase."""
        masculine, *stems = self.adjectives[adjective]
        stem = stems[0] if stems else masculine
        plural = stems[1] if len(stems) > 1 else stem + "и"
        definite = attributive and features.determiner == "definite"
        if features.plural:
            return plural + "те" * definite
        if features.gender == "f":
            return stem + "а" + "та" * definite
        if features.gender == "n":
            return stem + "о" + "то" * definite
        if not definite:
            return masculine
        return plural + ("ят" if features.case == "nom" else "я")

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return the demonstrative, quantifier or numeral."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many"), "DET", "det")]
        if determiner == "this":
            form = 3 if features.plural else "mfn".index(features.gender)
            return [("X", self.other("this", form), "DET", "det")]
        return []

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the third person of present or imperfect."""
        forms = self.verbs[verb]
        if len(forms) == 1:
            forms = (forms[0], forms[0] + "т", forms[0] + "ше")
        if not past:
            return forms[features.plural]
        if not features.plural:
            return forms[2]
        stem = forms[2].removesuffix("ше")
        return (stem[:-1] + "я" if stem.endswith("е") else stem) + "ха"

    def copula(self, clause: Clause, features: Features) -> str:
        """Return the form of ``съм``."""
        return self.others["be"][2 * clause.past + features.plural]
