"""Spanish and French."""

from __future__ import annotations

from itertools import pairwise

from mbert_atlas.miniature.concepts import HUMAN
from mbert_atlas.miniature.language import Features, Language, Word, contracted, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing


class Romance(Language):
    """Gender, articles, prepositions that contract with them, adjectives mostly after the noun."""

    articles = True
    clause_order, fronted_order = "SNCVKAOMPT", "TSNCVKAOMP"
    subordinate_order = clause_order

    def noun(self, noun: str, features: Features) -> str:
        """Return the noun in its number."""
        if noun in self.names:
            return self.names[noun][0]
        singular, _, *plural = self.nouns[noun]
        if not features.plural:
            return singular
        return plural[0] if plural else self.plural(singular)

    def plural(self, form: str) -> str:
        """Return the regular plural of a noun or adjective."""
        raise NotImplementedError

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return the article, demonstrative, quantifier or numeral."""
        determiner = thing.determiner
        if not determiner:
            return []
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        form = self.other(determiner, 2 * features.plural + (features.gender == "f"))
        slot = {"many": "Q", "this": "X"}.get(determiner, "D")
        return [(slot, form, "DET", "det")]

    def copula(self, clause: Clause, features: Features) -> str:
        """Return the copula."""
        return self.others["be"][2 * clause.past + features.plural]


class Spanish(Romance):
    """Marks human objects with ``a``; ``de`` and ``a`` contract with ``el``."""

    code, name, script = "es", "Spanish", "LATIN"
    interrogatives = table("who quién a_quién; what qué qué; where dónde")
    question_orders = Romance.clause_order, "OVSMPT", "TVSOMP"
    question_marks = "¿", "?"
    namespaces = ("Archivo", "Plantilla", "Categoría")
    contractions = contracted("de el del; a el al")

    nouns = table("""
        person persona f; man hombre m; woman mujer f; boy chico m; girl chica f
        teacher profesor m; doctor médico m; student alumno m; farmer campesino m; king rey m
        writer escritor m; soldier soldado m; merchant comerciante m; animal animal m
        dog perro m; cat gato m; horse caballo m; bird pájaro m; cow vaca f; wolf lobo m
        bear oso m; place lugar m; city ciudad f; village pueblo m; school escuela f
        hospital hospital m; house casa f; garden jardín m jardines; market mercado m
        forest bosque m; island isla f; castle castillo m; fruit fruta f; apple manzana f
        orange naranja f; lemon limón m limones; pear pera f; text texto m; book libro m
        letter carta f; newspaper periódico m; story cuento m; tool herramienta f
        knife cuchillo m; hammer martillo m; axe hacha f; object objeto m; table mesa f
        chair silla f; box caja f; lamp lámpara f; clock reloj m; plant planta f; tree árbol m
        flower flor f; rose rosa f; vehicle vehículo m; car coche m; boat barco m
        bicycle bicicleta f
    """)
    names = table("""
        anna Ana f; maria María f; sara Sara f; omar Omar m; ivan Iván m; lucas Lucas m
        paris París f; berlin Berlín f; moscow Moscú f; delhi Delhi f; madrid Madrid f
        cairo Cairo f; india India f; egypt Egipto m; siemens Siemens f; toyota Toyota f
        airbus Airbus f; reuters Reuters f
    """)
    verbs = table("""
        see ve ven vio vieron; find encuentra encuentran encontró encontraron; love ama
        hate odia; visit visita; follow sigue siguen siguió siguieron; know conoce; buy compra
        sell vende; read lee leen leyó leyeron; write escribe; eat come; carry lleva; open abre
        close cierra cierran cerró cerraron; paint pinta; sleep duerme duermen durmió durmieron
        work trabaja; run corre; walk camina; play juega juegan jugó jugaron
        laugh ríe ríen rió rieron; cry llora; sing canta; wait espera; swim nada; arrive llega
        leave parte; dance baila
    """)
    adjectives = table("""
        big grande; small pequeño; old viejo; young joven jóvenes; good bueno; bad malo
        happy feliz felices; sad triste; strong fuerte; weak débil; beautiful hermoso; ugly feo
        tired cansado; hungry hambriento; rich rico; poor pobre; famous famoso; new nuevo
        black negro; white blanco; red rojo; green verde; clean limpio; dirty sucio; long largo
        short corto; heavy pesado; light ligero; expensive caro; cheap barato; quiet tranquilo
    """)
    others = table("""
        now ahora; today hoy; yesterday ayer; often frecuentemente; always siempre
        sometimes a_veces; quickly rápidamente; slowly lentamente; quietly silenciosamente
        carefully cuidadosamente; very muy; he él; she ella; they ellos; three tres; four cuatro
        five cinco; seven siete; ten diez; definite el la los las; indefinite un una unos unas
        this este esta estos estas; many muchos muchas muchos muchas; and y; but pero
        because porque; not no; be es son era eran
    """)
    adpositions = patterns("""
        in - en _; near - cerca de _; with - con _; for - para _; of - de _; to - a _
        from - desde _
    """)

    def plural(self, form: str) -> str:
        """Add ``s`` after a vowel and ``es`` after a consonant."""
        return form + ("s" if form[-1] in "aeiouéó" else "es")

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Return the adjective; only those in ``o`` have a feminine."""
        form, *plural = self.adjectives[adjective]
        if form.endswith("o") and features.gender == "f":
            form = form[:-1] + "a"
        if not features.plural:
            return form
        return plural[0] if plural else self.plural(form)

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the third person of present or preterite."""
        forms = self.verbs[verb]
        if len(forms) == 1:
            stem = forms[0][:-1]
            ending = "ó aron" if forms[0].endswith("a") else "ió ieron"
            forms = (forms[0], forms[0] + "n", *(stem + part for part in ending.split()))
        return forms[2 * past + features.plural]

    def object_marking(self, clause: Clause) -> tuple[str, str]:
        """Mark persons with ``a``."""
        return "acc", "a _" if clause.object and clause.object.noun in HUMAN else "_"


_SILENT_H = ("hom", "hôp", "hist", "horl", "heur")
_ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'"}
_BEFORE_VOWEL = {"ce": "cet", "vieux": "vieil", "nouveau": "nouvel", "beau": "bel"}


class French(Romance):
    """Elision, two-part negation, a few adjectives before the noun."""

    code, name, script = "fr", "French", "LATIN"
    interrogatives = table(
        "who qui qui_est-ce_que; what qu'est-ce_qui qu'est-ce_que; where où_est-ce_que"
    )
    question_orders = Romance.clause_order, "OSVMPT", "TSVOMP"
    namespaces = ("Fichier", "Modèle", "Catégorie")
    contractions = contracted("de le du; de les des; à le au; à les aux")
    early_adjectives = frozenset(
        ("big", "small", "old", "young", "new", "good", "bad", "beautiful")
    )

    nouns = table("""
        person personne f; man homme m; woman femme f; boy garçon m; girl fille f
        teacher enseignant m; doctor médecin m; student élève m; farmer fermier m; king roi m
        writer écrivain m; soldier soldat m; merchant marchand m; animal animal m animaux
        dog chien m; cat chat m; horse cheval m chevaux; bird oiseau m oiseaux; cow vache f
        wolf loup m; bear ours m ours; place lieu m lieux; city ville f; village village m
        school école f; hospital hôpital m hôpitaux; house maison f; garden jardin m
        market marché m; forest forêt f; island île f; castle château m châteaux; fruit fruit m
        apple pomme f; orange orange f; lemon citron m; pear poire f; text texte m; book livre m
        letter lettre f; newspaper journal m journaux; story histoire f; tool outil m
        knife couteau m couteaux; hammer marteau m marteaux; axe hache f; object objet m
        table table f; chair chaise f; box boîte f; lamp lampe f; clock horloge f; plant plante f
        tree arbre m; flower fleur f; rose rose f; vehicle véhicule m; car voiture f
        boat bateau m bateaux; bicycle vélo m
    """)
    names = table("""
        anna Anne f; maria Marie f; sara Sara f; omar Omar m; ivan Ivan m; lucas Lucas m
        paris Paris m; berlin Berlin m; moscow Moscou m; delhi Delhi m; madrid Madrid m
        cairo Caire m; india Inde f; egypt Égypte f; siemens Siemens m; toyota Toyota m
        airbus Airbus m; reuters Reuters m
    """)
    verbs = table("""
        see voit voient voyait; find trouve; love aime; hate déteste; visit visite
        follow suit suivent suivait; know connaît connaissent connaissait
        buy achète achètent achetait; sell vend vendent vendait; read lit lisent lisait
        write écrit écrivent écrivait; eat mange mangent mangeait; carry porte
        open ouvre ouvrent ouvrait; close ferme; paint peint peignent peignait
        sleep dort dorment dormait; work travaille; run court courent courait; walk marche
        play joue; laugh rit rient riait; cry pleure; sing chante
        wait attend attendent attendait; swim nage nagent nageait; arrive arrive
        leave part partent partait; dance danse dansent dansait
    """)
    adjectives = table("""
        big grand; small petit; old vieux vieille; young jeune; good bon bonne; bad mauvais
        happy heureux heureuse; sad triste; strong fort; weak faible; beautiful beau belle
        ugly laid; tired fatigué; hungry affamé; rich riche; poor pauvre; famous célèbre
        new nouveau nouvelle; black noir; white blanc blanche; red rouge; green vert
        clean propre; dirty sale; long long longue; short court; heavy lourd; light léger légère
        expensive cher chère; cheap abordable; quiet calme
    """)
    others = table("""
        now maintenant; today aujourd'hui; yesterday hier; often souvent; always toujours
        sometimes parfois; quickly rapidement; slowly lentement; quietly doucement
        carefully prudemment; very très; he il; she elle; they ils; three trois; four quatre
        five cinq; seven sept; ten dix; definite le la les les; indefinite un une des des
        this ce cette ces ces; many plusieurs plusieurs plusieurs plusieurs; and et; but mais
        because car; not ne pas; be est sont était étaient
    """)
    adpositions = patterns("""
        in - dans _; near - près de _; with - avec _; for - pour _; of - de _; to - à _
        from - depuis _
    """)

    def plural(self, form: str) -> str:
        """Add ``s``, or ``x`` after ``eau``."""
        if form[-1] in "sxz":
            return form
        return form + ("x" if form.endswith("eau") else "s")

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Return the adjective in gender and number."""
        form, *feminine = self.adjectives[adjective]
        if features.gender == "f":
            form = feminine[0] if feminine else form if form.endswith("e") else form + "e"
        return self.plural(form) if features.plural else form

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the third person of present or imperfect."""
        forms = self.verbs[verb]
        if len(forms) == 1:
            forms = (forms[0], forms[0] + "nt", forms[0][:-1] + "ait")
        if past:
            return forms[2][:-1] + "ent" if features.plural else forms[2]
        return forms[features.plural]

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Put the verb between ``ne`` and ``pas``."""
        slots, head = super().verbal(clause, features, path)
        return self.with_pas(clause, path, slots, head), head

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Put the copula between ``ne`` and ``pas``."""
        slots, head = super().nominal(clause, features, path)
        return self.with_pas(clause, path, slots, head), head

    def with_pas(
        self, clause: Clause, path: str, slots: dict[str, list[Word]], head: Word
    ) -> dict[str, list[Word]]:
        """Add the second half of the negation."""
        if clause.negated:
            slots["N"] = [self.negation(path, head, upos="ADV")]
            slots["K"] = [self.negation(path, head, form=1, upos="ADV")]
        return slots

    def sandhi(self, words: list[Word]) -> None:
        """Elide ``le``, ``la``, ``de`` and ``ne`` before vowels; write ``cet``, ``vieil`` and kin.

        After ``de`` the indefinite plural has no article.
        """
        for index in range(len(words) - 1, 0, -1):
            if words[index - 1].form == "de" and (words[index].form, words[index].upos) == (
                "des",
                "DET",
            ):
                del words[index]
        for word, following in pairwise(words):
            start = following.form.lower()
            if start[0] in "aeiouyâàéèêëîïôûœ" or start.startswith(_SILENT_H):
                if word.form in _ELIDED and following.upos != "PUNCT":
                    word.form, word.joined = _ELIDED[word.form], "glued"
                elif word.head is following and following.form[-1] not in "sx":
                    word.form = _BEFORE_VOWEL.get(word.form, word.form)
