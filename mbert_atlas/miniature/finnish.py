"""Finnish."""

from __future__ import annotations

from mbert_atlas.miniature.language import Features, Language, Word, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing


class Finnish(Language):
    """Many cases, shared by adjectives; a verb of negation; few adpositions, after the noun."""

    code, name, script = "fi", "Finnish", "LATIN"
    namespaces = ("Tiedosto", "Malline", "Luokka")
    clause_order, fronted_order = "SXCVAOMPT", "TSXCVAOMP"
    subordinate_order = clause_order
    phrase_order = "GXQAH"
    head_final = True
    interrogatives = table("who kuka kenet; what mikä minkä; where missä")
    question_orders = clause_order, "OSVMPT", "TSVOMP"

    # nominative, stem of the genitive, partitive; the latter two only if not regular
    nouns = table("""
        person ihminen ihmise ihmistä; man mies miehe miestä; woman nainen naise naista
        boy poika poja poikaa; girl tyttö tytö tyttöä; teacher opettaja; doctor lääkäri
        student opiskelija; farmer viljelijä; king kuningas kuninkaa kuningasta
        writer kirjailija; soldier sotilas sotilaa sotilasta
        merchant kauppias kauppiaa kauppiasta; animal eläin eläime eläintä; dog koira; cat kissa
        horse hevonen hevose hevosta; bird lintu linnu lintua; cow lehmä; wolf susi sude sutta
        bear karhu; place paikka paika paikkaa; city kaupunki kaupungi kaupunkia; village kylä
        school koulu; hospital sairaala; house talo; garden puutarha; market tori; forest metsä
        island saari saare saarta; castle linna; fruit hedelmä; apple omena; orange appelsiini
        lemon sitruuna; pear päärynä; text teksti; book kirja; letter kirje kirjee kirjettä
        newspaper lehti lehde lehteä; story tarina; tool työkalu; knife veitsi veitse veistä
        hammer vasara; axe kirves kirvee kirvestä; object esine esinee esinettä
        table pöytä pöydä pöytää; chair tuoli; box laatikko laatiko laatikkoa
        lamp lamppu lampu lamppua; clock kello; plant kasvi; tree puu; flower kukka kuka kukkaa
        rose ruusu; vehicle ajoneuvo; car auto; boat vene venee venettä; bicycle polkupyörä
    """)
    names = table("""
        anna Anna; maria Maria; sara Saara; omar Omar Omari; ivan Ivan Ivani
        lucas Luukas Luukkaa; paris Pariisi; berlin Berliini; moscow Moskova; delhi Delhi
        madrid Madrid Madridi; cairo Kairo; india Intia; egypt Egypti; siemens Siemens Siemensi
        toyota Toyota; airbus Airbus Airbusi; reuters Reuters Reutersi
    """)
    # singular and plural of the present, past, connegative, past participle
    verbs = table("""
        see näkee näkevät näki näe nähnyt; find löytää löytävät löysi löydä löytänyt
        love rakastaa rakastavat rakasti rakasta rakastanut
        hate vihaa vihaavat vihasi vihaa vihannut; visit tapaa tapaavat tapasi tapaa tavannut
        follow seuraa seuraavat seurasi seuraa seurannut
        know tuntee tuntevat tunsi tunne tuntenut; buy ostaa ostavat osti osta ostanut
        sell myy myyvät myi myy myynyt; read lukee lukevat luki lue lukenut
        write kirjoittaa kirjoittavat kirjoitti kirjoita kirjoittanut
        eat syö syövät söi syö syönyt; carry kantaa kantavat kantoi kanna kantanut
        open avaa avaavat avasi avaa avannut; close sulkee sulkevat sulki sulje sulkenut
        paint maalaa maalaavat maalasi maalaa maalannut
        sleep nukkuu nukkuvat nukkui nuku nukkunut
        work työskentelee työskentelevät työskenteli työskentele työskennellyt
        run juoksee juoksevat juoksi juokse juossut
        walk kävelee kävelevät käveli kävele kävellyt
        play leikkii leikkivät leikki leiki leikkinyt
        laugh nauraa nauravat nauroi naura nauranut; cry itkee itkevät itki itke itkenyt
        sing laulaa laulavat lauloi laula laulanut; wait odottaa odottavat odotti odota odottanut
        swim ui uivat ui ui uinut; arrive saapuu saapuvat saapui saavu saapunut
        leave lähtee lähtevät lähti lähde lähtenyt
        dance tanssii tanssivat tanssi tanssi tanssinut
    """)
    adjectives = table("""
        big iso; small pieni piene pientä; old vanha; young nuori nuore nuorta; good hyvä
        bad huono; happy iloinen iloise iloista; sad surullinen surullise surullista
        strong vahva; weak heikko heiko heikkoa; beautiful kaunis kaunii kaunista; ugly ruma
        tired väsynyt väsynee väsynyttä; hungry nälkäinen nälkäise nälkäistä
        rich rikas rikkaa rikasta; poor köyhä; famous kuuluisa; new uusi uude uutta; black musta
        white valkoinen valkoise valkoista; red punainen punaise punaista; green vihreä
        clean puhdas puhtaa puhdasta; dirty likainen likaise likaista; long pitkä
        short lyhyt lyhye lyhyttä; heavy raskas raskaa raskasta; light kevyt kevye kevyttä
        expensive kallis kallii kallista; cheap halpa halva halpaa
        quiet hiljainen hiljaise hiljaista
    """)
    others = table("""
        now nyt; today tänään; yesterday eilen; often usein; always aina; sometimes joskus
        quickly nopeasti; slowly hitaasti; quietly hiljaa; carefully varovasti; very hyvin
        he hän; she hän; they he; three kolme; four neljä; five viisi; seven seitsemän
        ten kymmenen; this tämä; many monta; and ja; but mutta; because koska; not ei eivät
        be on ovat oli olivat ole ollut olleet
    """)
    adpositions = patterns("""
        in ine _; near gen _ lähellä; with gen _ kanssa; for gen _ puolesta; of gen _; to all _
        from ela _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Decline a noun; after numbers it is a partitive singular."""
        return self.decline(self.entry(noun), features)

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Decline an adjective like its noun."""
        if not attributive:
            features = features._replace(
                determiner="", plural=features.plural and self.plural_verb(features)
            )
        return self.decline(self.adjectives[adjective], features)

    def decline(self, entry: tuple[str, ...], features: Features) -> str:
        """Decline a noun or an adjective."""
        nominative = entry[0]
        stem = entry[1] if len(entry) > 1 else nominative
        front = not any(vowel in nominative.lower() for vowel in "aou")
        if features.counted or features.determiner == "many":
            return entry[2] if len(entry) > 2 else stem + ("ä" if front else "a")
        case = features.case
        if features.plural and case in ("nom", "acc"):
            return stem + "t"
        if not features.plural and case in ("nom", "gen", "acc"):
            return nominative if case == "nom" else stem + "n"
        if features.plural:
            stem = self.plural_stem(stem)
            if case == "gen":
                vowel = stem[-2] in "aeiouyäö"
                return (stem[:-1] + "j" if vowel else stem) + "en"
        ending = {"ine": "ssa", "all": "lle", "ela": "sta"}[case]
        return stem + (ending.replace("a", "ä") if front else ending)

    def plural_stem(self, stem: str) -> str:
        """Return the stem of the oblique plural."""
        if stem[-2:] in ("aa", "ää", "ee", "uu", "ii"):
            return stem[:-1].rstrip("i") + "i"
        if stem[-1] in "äe":
            return stem[:-1] + "i"
        return stem[:-1] + {"a": "oi", "i": "ei"}.get(stem[-1], stem[-1] + "i")

    def plural_verb(self, features: Features) -> bool:
        """Say whether the verb is plural: not after numbers."""
        return features.plural and not features.counted and features.determiner != "many"

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return the demonstrative, quantifier or numeral."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many"), "DET", "det")]
        if determiner == "this":
            singular = {
                "nom": "tämä",
                "acc": "tämän",
                "gen": "tämän",
                "ine": "tässä",
                "all": "tälle",
                "ela": "tästä",
            }
            plural = {
                "nom": "nämä",
                "acc": "nämä",
                "gen": "näiden",
                "ine": "näissä",
                "all": "näille",
                "ela": "näistä",
            }
            return [("X", (plural if features.plural else singular)[features.case], "DET", "det")]
        return []

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Conjugate the verb, or the verb of negation before it."""
        singular, plural, past, connegative, participle = self.verbs[clause.predicate]
        many = self.plural_verb(features)
        if clause.negated and clause.past:
            form = participle[:-2] + "eet" if many else participle
        elif clause.negated:
            form = connegative
        elif clause.past:
            form = past + plural[-3:] * many
        else:
            form = plural if many else singular
        head = Word(form, singular, "VERB", "", (path + ".predicate",))
        slots = {"V": [head]}
        if clause.negated:
            slots["X"] = [self.negation(path, head, many, "AUX", "aux")]
        return slots, head

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Negate with the verb of negation."""
        slots, head = super().nominal(clause, features, path)
        if clause.negated:
            slots["X"] = [self.negation(path, head, self.plural_verb(features), "AUX", "aux")]
        return slots, head

    def copula(self, clause: Clause, features: Features) -> str:
        """Return the form of ``olla``."""
        many = self.plural_verb(features)
        if clause.negated:
            return self.other("be", 5 + many if clause.past else 4)
        return self.other("be", 2 * clause.past + many)
