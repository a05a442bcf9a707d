"""English and German."""

from __future__ import annotations

from itertools import pairwise

from mbert_atlas.miniature.language import Features, Language, Word, contracted, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing


class English(Language):
    """Articles, ``do`` under negation, strict subject-verb-object."""

    code, name, script = "en", "English", "LATIN"
    namespaces = ("File", "Template", "Category")
    articles = True
    clause_order, fronted_order = "SXCNVAOMPT", "TSXCNVAOMP"
    subordinate_order = clause_order
    phrase_order = "XDQAHG"
    interrogatives = table("who who who; what what what; where where")
    question_orders = clause_order, "OXSVMPT", "TXSVOMP"

    nouns = table("""
        person person people; man man men; woman woman women; boy; girl; teacher; doctor; student
        farmer; king; writer; soldier; merchant; animal; dog; cat; horse; bird; cow
        wolf wolf wolves; bear; place; city city cities; village; school; hospital; house; garden
        market; forest; island; castle; fruit; apple; orange; lemon; pear; text; book; letter
        newspaper; story story stories; tool; knife knife knives; hammer; axe; object; table
        chair; box box boxes; lamp; clock; plant; tree; flower; rose; vehicle; car; boat; bicycle
    """)
    names = table("""
        anna Anna; maria Maria; sara Sara; omar Omar; ivan Ivan; lucas Lucas; paris Paris
        berlin Berlin; moscow Moscow; delhi Delhi; madrid Madrid; cairo Cairo; india India
        egypt Egypt; siemens Siemens; toyota Toyota; airbus Airbus; reuters Reuters
    """)
    verbs = table("""
        see sees saw; find finds found; love loves loved; hate hates hated; visit visits visited
        follow follows followed; know knows knew; buy buys bought; sell sells sold
        read reads read; write writes wrote; eat eats ate; carry carries carried
        open opens opened; close closes closed; paint paints painted; sleep sleeps slept
        work works worked; run runs ran; walk walks walked; play plays played
        laugh laughs laughed; cry cries cried; sing sings sang; wait waits waited
        swim swims swam; arrive arrives arrived; leave leaves left; dance dances danced
    """)
    adjectives = table("""
        big; small; old; young; good; bad; happy; sad; strong; weak; beautiful; ugly; tired
        hungry; rich; poor; famous; new; black; white; red; green; clean; dirty; long; short
        heavy; light; expensive; cheap; quiet
    """)
    others = table("""
        now now; today today; yesterday yesterday; often often; always always
        sometimes sometimes; quickly quickly; slowly slowly; quietly quietly; carefully carefully
        very very; he he; she she; they they; three three; four four; five five; seven seven
        ten ten; definite the; indefinite a an; this this these; many many; and and; but but
        because because; not not; be is are was were
    """)
    adpositions = patterns("""
        in - in _; near - near _; with - with _; for - for _; of - of _; to - to _; from - from _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Return the noun; the plural adds ``s`` unless the lexicon has another."""
        if noun in self.names:
            return self.names[noun][0]
        singular, *plural = self.nouns[noun]
        return (*plural, singular + "s")[0] if features.plural else singular

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return the article, demonstrative, quantifier or numeral."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", determiner, "NUM", "nummod")]
        if determiner == "many":
            return [("Q", "many", "ADJ", "amod")]
        if determiner == "this":
            return [("X", "these" if features.plural else "this", "DET", "det")]
        if determiner == "definite":
            return [("D", "the", "DET", "det")]
        if determiner == "indefinite" and not features.plural:
            return [("D", "a", "DET", "det")]
        return []

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Return the verb, with ``do`` if negated or asked about, and ``not`` if negated."""
        third, past = self.verbs[clause.predicate]
        finite = past if clause.past else clause.predicate if features.plural else third
        supported = clause.negated or clause.asked in ("object", "place")
        form = clause.predicate if supported else finite
        source = (path + ".predicate",)
        head = Word(form, clause.predicate, "VERB", "", source)
        slots = {"V": [head]}
        if supported:
            do = "did" if clause.past else "do" if features.plural else "does"
            slots["X"] = [Word(do, "do", "AUX", "aux", source, head)]
        if clause.negated:
            slots["N"] = [self.negation(path, head)]
        return slots, head

    def copula(self, clause: Clause, features: Features) -> str:
        """Return the form of ``be``."""
        return self.others["be"][2 * clause.past + features.plural]

    def sandhi(self, words: list[Word]) -> None:
        """Write ``an`` before a vowel."""
        for word, following in pairwise(words):
            if word.form == "a" and following.form[0] in "aeiou":
                word.form = "an"


_DEFINITE = {
    "nom": {"m": "der", "f": "die", "n": "das", "pl": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "pl": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem", "pl": "den"},
}
_INDEFINITE = {
    "nom": {"m": "ein", "f": "eine", "n": "ein"},
    "acc": {"m": "einen", "f": "eine", "n": "ein"},
    "dat": {"m": "einem", "f": "einer", "n": "einem"},
}
_STRONG = {"nom": {"m": "er", "f": "e", "n": "es"}, "acc": {"m": "en", "f": "e", "n": "es"}}


class German(Language):
    """Three cases, the verb second in main clauses and last in subordinate ones."""

    code, name, script = "de", "German", "LATIN"
    namespaces = ("Datei", "Vorlage", "Kategorie")
    articles = True
    clause_order, fronted_order, subordinate_order = "SCVOTNAMP", "TCVSONAMP", "SOTNMPAVC"
    phrase_order = "XDQAHG"
    interrogatives = table("who wer wen; what was was; where wo")
    question_orders = clause_order, "OVSTMP", "TVSOMP"
    contractions = contracted("in dem im; zu dem zum; zu der zur; von dem vom; bei dem beim")

    nouns = table("""
        person Person f Personen; man Mann m Männer; woman Frau f Frauen
        boy Junge m Jungen Jungen; girl Mädchen n Mädchen; teacher Lehrer m Lehrer
        doctor Arzt m Ärzte; student Schüler m Schüler; farmer Bauer m Bauern Bauern
        king König m Könige; writer Dichter m Dichter; soldier Soldat m Soldaten Soldaten
        merchant Händler m Händler; animal Tier n Tiere; dog Hund m Hunde; cat Katze f Katzen
        horse Pferd n Pferde; bird Vogel m Vögel; cow Kuh f Kühe; wolf Wolf m Wölfe
        bear Bär m Bären Bären; place Ort m Orte; city Stadt f Städte; village Dorf n Dörfer
        school Schule f Schulen; hospital Krankenhaus n Krankenhäuser; house Haus n Häuser
        garden Garten m Gärten; market Markt m Märkte; forest Wald m Wälder
        island Insel f Inseln; castle Burg f Burgen; fruit Frucht f Früchte; apple Apfel m Äpfel
        orange Apfelsine f Apfelsinen; lemon Zitrone f Zitronen; pear Birne f Birnen
        text Text m Texte; book Buch n Bücher; letter Brief m Briefe
        newspaper Zeitung f Zeitungen; story Geschichte f Geschichten; tool Werkzeug n Werkzeuge
        knife Messer n Messer; hammer Hammer m Hämmer; axe Axt f Äxte
        object Gegenstand m Gegenstände; table Tisch m Tische; chair Stuhl m Stühle
        box Kiste f Kisten; lamp Lampe f Lampen; clock Uhr f Uhren; plant Pflanze f Pflanzen
        tree Baum m Bäume; flower Blume f Blumen; rose Rose f Rosen; vehicle Fahrzeug n Fahrzeuge
        car Auto n Autos; boat Boot n Boote; bicycle Fahrrad n Fahrräder
    """)
    names = table("""
        anna Anna f; maria Maria f; sara Sara f; omar Omar m; ivan Iwan m; lucas Lukas m
        paris Paris n; berlin Berlin n; moscow Moskau n; delhi Delhi n; madrid Madrid n
        cairo Kairo n; india Indien n; egypt Ägypten n; siemens Siemens n; toyota Toyota n
        airbus Airbus n; reuters Reuters n
    """)
    verbs = table("""
        see sieht sehen sah; find findet finden fand; love liebt lieben liebte
        hate hasst hassen hasste; visit besucht besuchen besuchte
        follow verfolgt verfolgen verfolgte; know kennt kennen kannte; buy kauft kaufen kaufte
        sell verkauft verkaufen verkaufte; read liest lesen las; write schreibt schreiben schrieb
        eat isst essen aß; carry trägt tragen trug; open öffnet öffnen öffnete
        close schließt schließen schloss; paint malt malen malte; sleep schläft schlafen schlief
        work arbeitet arbeiten arbeitete; run rennt rennen rannte; walk geht gehen ging
        play spielt spielen spielte; laugh lacht lachen lachte; cry weint weinen weinte
        sing singt singen sang; wait wartet warten wartete; swim schwimmt schwimmen schwamm
        arrive kommt kommen kam; leave verreist verreisen verreiste; dance tanzt tanzen tanzte
    """)
    adjectives = table("""
        big groß; small klein; old alt; young jung; good gut; bad schlecht; happy glücklich
        sad traurig; strong stark; weak schwach; beautiful schön; ugly hässlich; tired müde müd
        hungry hungrig; rich reich; poor arm; famous berühmt; new neu; black schwarz; white weiß
        red rot; green grün; clean sauber; dirty schmutzig; long lang; short kurz; heavy schwer
        light leicht; expensive teuer teur; cheap billig; quiet ruhig
    """)
    others = table("""
        now jetzt; today heute; yesterday gestern; often oft; always immer; sometimes manchmal
        quickly schnell; slowly langsam; quietly leise; carefully vorsichtig; very sehr; he er
        she sie; they sie; three drei; four vier; five fünf; seven sieben; ten zehn; definite der
        indefinite ein; this dies; many viele vielen; and und; but aber; because weil; not nicht
        be ist sind war waren
    """)
    adpositions = patterns("""
        in dat in _; near dat bei _; with dat mit _; for acc für _; of dat von _; to dat zu _
        from dat aus _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Return the noun; weak masculines and the dative plural take endings."""
        if noun in self.names:
            return self.names[noun][0]
        singular, _, plural, *oblique = self.nouns[noun]
        if not features.plural:
            return oblique[0] if oblique and features.case != "nom" else singular
        return plural + "n" if features.case == "dat" and plural[-1] not in "ns" else plural

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return the article, demonstrative, quantifier or numeral."""
        determiner, case = thing.determiner, features.case
        kind = "pl" if features.plural else features.gender
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many", case == "dat"), "DET", "det")]
        if determiner == "this":
            ending = {"der": "er", "die": "e", "das": "es", "den": "en", "dem": "em"}
            return [("X", "dies" + ending[_DEFINITE[case][kind]], "DET", "det")]
        if determiner == "definite":
            return [("D", _DEFINITE[case][kind], "DET", "det")]
        if determiner == "indefinite" and not features.plural:
            return [("D", _INDEFINITE[case][kind], "DET", "det")]
        return []

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Return the adjective: weak, mixed or strong endings when attributive, else none."""
        form, stem = self.adjectives[adjective][0], self.adjectives[adjective][-1]
        if not attributive:
            return form
        weak = features.determiner in ("definite", "this")
        if features.case == "dat" or (features.plural and weak):
            return stem + "en"
        if features.plural:
            return stem + "e"
        if weak:
            return stem + ("en" if (features.case, features.gender) == ("acc", "m") else "e")
        return stem + _STRONG[features.case][features.gender]

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the third person of present or preterite."""
        singular, plural, preterite = self.verbs[verb]
        if not past:
            return plural if features.plural else singular
        if not features.plural:
            return preterite
        return preterite + ("n" if preterite.endswith("e") else "en")

    def copula(self, clause: Clause, features: Features) -> str:
        """Return the form of ``sein``."""
        return self.others["be"][2 * clause.past + features.plural]
