"""Hindi."""

from __future__ import annotations

from mbert_atlas.miniature.concepts import ANIMATE
from mbert_atlas.miniature.language import Features, Language, Word, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing

_CONSONANT_END = "िीुूाेैोौँं"


class Hindi(Language):
    """Verb last, postpositions that govern an oblique case, owners before what they own."""

    code, name, script = "hi", "Hindi", "DEVANAGARI"
    namespaces = ("चित्र", "साँचा", "श्रेणी")
    clause_order = "STPMOANVXC"
    fronted_order = "TSPMOANVXC"
    subordinate_order = clause_order
    phrase_order = "GXDQAH"
    full_stop = "।"
    head_final = True
    interrogatives = table("who कौन किसको; what क्या क्या; where कहाँ")

    nouns = table("""
        person व्यक्ति m; man आदमी m; woman औरत f; boy लड़का m; girl लड़की f; teacher शिक्षक m
        doctor डॉक्टर m; student छात्र m; farmer किसान m; king सम्राट m; writer लेखक m
        soldier सैनिक m; merchant व्यापारी m; animal जानवर m; dog कुत्ता m; cat बिल्ली f
        horse घोड़ा m; bird पंछी m; cow गाय f; wolf भेड़िया m; bear भालू m; place स्थान m
        city शहर m; village गाँव m; school विद्यालय m; hospital अस्पताल m; house घर m
        garden बगीचा m; market बाज़ार m; forest जंगल m; island द्वीप m; castle किला m; fruit फल m
        apple सेब m; orange संतरा m; lemon नींबू m; pear नाशपाती f; text पाठ m; book किताब f
        letter चिट्ठी f; newspaper अख़बार m; story कहानी f; tool औज़ार m; knife चाकू m
        hammer हथौड़ा m; axe कुल्हाड़ी f; object चीज़ f; table मेज़ f; chair कुर्सी f
        box डिब्बा m; lamp दीपक m; clock घड़ी f; plant पौधा m; tree पेड़ m; flower फूल m
        rose गुलाब m; vehicle वाहन m; car कार f; boat नाव f; bicycle साइकिल f
    """)
    names = table("""
        anna अन्ना f; maria मारिया f; sara सारा f; omar उमर m; ivan इवान m; lucas लुकास m
        paris पेरिस m; berlin बर्लिन m; moscow मॉस्को m; delhi दिल्ली f; madrid मैड्रिड m
        cairo काहिरा m; india भारत m; egypt मिस्र m; siemens सीमेंस m; toyota टोयोटा m
        airbus एयरबस m; reuters रॉयटर्स m
    """)
    verbs = table("""
        see देख; find ढूँढ; love चाह; hate धिक्कार; visit मिल; follow खदेड़; know जान; buy खरीद
        sell बेच; read पढ़; write लिख; eat खा; carry ढो; open खोल; close बंद_कर; paint रंग
        sleep सो; work काम_कर; run दौड़; walk चल; play खेल; laugh हँस; cry रो; sing गा
        wait इंतज़ार_कर; swim तैर; arrive पहुँच; leave निकल; dance नाच
    """)
    adjectives = table("""
        big बड़ा; small छोटा; old पुराना; young जवान; good अच्छा; bad बुरा; happy खुश; sad दुखी
        strong मज़बूत; weak कमज़ोर; beautiful सुंदर; ugly बदसूरत; tired थका; hungry भूखा
        rich अमीर; poor गरीब; famous प्रसिद्ध; new नया; black काला; white सफ़ेद; red लाल
        green हरा; clean साफ़; dirty गंदा; long लंबा; short नाटा; heavy भारी; light हल्का
        expensive महँगा; cheap सस्ता; quiet शांत
    """)
    others = table("""
        now अब; today आज; yesterday कल; often अक्सर; always हमेशा; sometimes कभी-कभी
        quickly जल्दी; slowly धीरे; quietly चुपचाप; carefully सँभलकर; very बहुत; he वह; she वह
        they वे; three तीन; four चार; five पाँच; seven सात; ten दस; indefinite एक
        this यह इस ये इन; many कई; and और; but लेकिन; because क्योंकि; not नहीं
        be है हैं था थे थी
    """)
    adpositions = patterns("""
        in obl _ में; near obl _ के पास; with obl _ के साथ; for obl _ के लिए; of obl _ का
        to obl _ तक; from obl _ से
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Inflect a noun for number and the oblique case."""
        if noun in self.names:
            return self.names[noun][0]
        form, gender = self.nouns[noun]
        oblique, plural = features.case == "obl", features.plural
        if gender == "m" and form.endswith("ा"):
            stem = form[:-1]
            if oblique and plural:
                return stem + "ों"
            return stem + "े" if oblique or plural else form
        if not plural:
            return form
        if form.endswith("ी") and (gender == "f" or oblique):
            return form[:-1] + ("ियों" if oblique else "ियाँ")
        if oblique:
            short = form[:-1] + "ु" if form.endswith("ू") else form
            return short + (
                "यों" if form.endswith("ि") else "ओं" if form[-1] in _CONSONANT_END else "ों"
            )
        return form if gender == "m" else form + "ें"

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Return the adjective; only those in ``ा`` agree."""
        form = self.adjectives[adjective][0]
        return self.agreeing(form, features) if form.endswith("ा") else form

    def agreeing(self, form: str, features: Features) -> str:
        """Change a final ``ा`` for gender, number and case."""
        if features.gender == "f":
            return form[:-1] + "ी"
        return form[:-1] + "े" if features.plural or features.case == "obl" else form

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return ``एक``, the demonstrative, quantifier or numeral."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many"), "DET", "det")]
        if determiner == "this":
            form = self.other("this", 2 * features.plural + (features.case == "obl"))
            return [("X", form, "DET", "det")]
        if determiner == "indefinite" and not features.plural:
            return [("D", self.other("indefinite"), "DET", "det")]
        return []

    def adposition(self, concept: str, thing: Thing, host: Features | None) -> tuple[str, str]:
        """Return the postposition; that of owners agrees with what is owned."""
        case, pattern = self.adpositions[concept]
        return (case, self.agreeing(pattern, host)) if host is not None else (case, pattern)

    def object_marking(self, clause: Clause) -> tuple[str, str]:
        """Mark persons and animals with ``को``."""
        animate = clause.object is not None and clause.object.noun in ANIMATE
        return ("obl", "_ को") if animate else ("nom", "_")

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the imperfective participle."""
        return self.agreeing(self.verbs[verb][0] + "ता", features._replace(case="nom"))

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Add the auxiliary of tense."""
        slots, head = super().verbal(clause, features, path)
        form = self.copula(clause, features)
        slots["X"] = [Word(form, form, "AUX", "aux", (path + ".predicate",), head)]
        return slots, head

    def copula(self, clause: Clause, features: Features) -> str:
        """Return the form of ``होना``."""
        if not clause.past:
            return self.other("be", features.plural)
        return self.other("be", 4 if features.gender == "f" else 2 + features.plural)
