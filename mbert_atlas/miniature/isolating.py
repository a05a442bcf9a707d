"""Chinese, Vietnamese and Indonesian: words that hardly change, and words that count."""

from __future__ import annotations

from mbert_atlas.miniature.concepts import LOCATIONS
from mbert_atlas.miniature.language import Features, Language, Word, patterns, table
from mbert_atlas.miniature.meanings import Clause, Thing, is_adjective


class Chinese(Language):
    """No spaces; adverbials before the verb; what modifies stands before what is modified."""

    code, name, script = "zh", "Chinese", "CJK"
    namespaces = ("文件", "模板", "分类")
    clause_order, fronted_order = "STPMNCVXAO", "TSPMNCVXAO"
    subordinate_order = clause_order
    phrase_order = "GXDQAH"
    interrogatives = table("who 谁 谁; what 什么 什么; where 在哪里")
    question_marks = "", "？"
    full_stop, comma = "。", "，"
    spaced = False
    head_final = True

    # noun and the word that it is counted with
    nouns = table("""
        person 人 个; man 男人 个; woman 女人 个; boy 男孩 个; girl 女孩 个; teacher 老师 位
        doctor 医生 位; student 学生 名; farmer 农民 名; king 国王 位; writer 作家 位
        soldier 士兵 名; merchant 商人 名; animal 动物 只; dog 狗 只; cat 猫 只; horse 马 匹
        bird 鸟 只; cow 牛 头; wolf 狼 只; bear 熊 只; place 地方 个; city 城市 座
        village 村庄 个; school 学校 所; hospital 医院 所; house 房子 座; garden 花园 座
        market 市场 个; forest 森林 片; island 岛屿 座; castle 城堡 座; fruit 水果 个
        apple 苹果 个; orange 橙子 个; lemon 柠檬 个; pear 梨 个; text 文章 篇; book 书 本
        letter 信 封; newspaper 报纸 张; story 故事 个; tool 工具 件; knife 刀 把; hammer 锤子 把
        axe 斧头 把; object 物品 件; table 桌子 张; chair 椅子 把; box 箱子 个; lamp 灯 盏
        clock 时钟 座; plant 植物 株; tree 树 棵; flower 花 朵; rose 玫瑰 朵; vehicle 车辆 辆
        car 汽车 辆; boat 船 艘; bicycle 自行车 辆
    """)
    names = table("""
        anna 安娜; maria 玛丽亚; sara 萨拉; omar 奥马尔; ivan 伊万; lucas 卢卡斯; paris 巴黎
        berlin 柏林; moscow 莫斯科; delhi 德里; madrid 马德里; cairo 开罗; india 印度; egypt 埃及
        siemens 西门子; toyota 丰田; airbus 空客; reuters 路透社
    """)
    verbs = table("""
        see 看见; find 找到; love 爱; hate 恨; visit 拜访; follow 跟随; know 认识; buy 买
        sell 卖; read 读; write 写; eat 吃; carry 搬; open 打开; close 关闭; paint 画; sleep 睡觉
        work 工作; run 跑步; walk 走路; play 玩耍; laugh 笑; cry 哭; sing 唱歌; wait 等待
        swim 游泳; arrive 到达; leave 离开; dance 跳舞
    """)
    adjectives = table("""
        big 大; small 小; old 老; young 年轻; good 好; bad 坏; happy 快乐; sad 悲伤; strong 强壮
        weak 虚弱; beautiful 美丽; ugly 丑陋; tired 疲倦; hungry 饥饿; rich 富有; poor 贫穷
        famous 著名; new 新; black 黑; white 白; red 红; green 绿; clean 干净; dirty 肮脏
        long 长; short 短; heavy 重; light 轻; expensive 昂贵; cheap 便宜; quiet 安静
    """)
    others = table("""
        now 现在; today 今天; yesterday 昨天; often 经常; always 总是; sometimes 有时
        quickly 迅速; slowly 缓慢; quietly 悄悄; carefully 小心; very 非常; he 他; she 她
        they 他们; three 三; four 四; five 五; seven 七; ten 十; indefinite 一; this 这 这些
        many 许多; and 和 而且; but 但是; because 因为; not 不 没有; be 是
    """)
    adpositions = patterns("""
        in - 在 _ 里; near - 在 _ 附近; with - 跟 _ 一起; for - 为 _; of - _ 的; to - 往 _
        from - 从 _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Return the noun; definite plurals of persons take ``们``."""
        form = self.entry(noun)[0]
        several = features.plural and features.human and features.determiner == "definite"
        return form + "们" if several else form

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return number or demonstrative with the noun's classifier."""
        determiner = thing.determiner
        if not determiner:
            return []
        classifier = self.nouns[thing.noun][1]
        if features.counted:
            return [
                ("Q", self.other(determiner), "NUM", "nummod"),
                ("Q", classifier, "NOUN", "clf"),
            ]
        if determiner == "many":
            return [("Q", self.other("many"), "NUM", "nummod")]
        if determiner == "this" and features.plural:
            return [("X", self.other("this", 1), "DET", "det")]
        if determiner == "this":
            return [("X", self.other("this"), "DET", "det"), ("X", classifier, "NOUN", "clf")]
        if determiner == "indefinite" and not features.plural:
            return [
                ("D", self.other("indefinite"), "NUM", "nummod"),
                ("D", classifier, "NOUN", "clf"),
            ]
        return []

    def adjective_phrase(
        self, adjective: str, intensified: bool, features: Features, prefix: str, attributive: bool
    ) -> tuple[list[Word], Word]:
        """Add ``的`` after longer attributes and ``很`` before plain predicates."""
        words, head = super().adjective_phrase(
            adjective, intensified, features, prefix, attributive
        )
        if attributive and (intensified or len(head.form) > 1):
            words = [*words, Word("的", "的", "PART", "mark:rel", (), head)]
        return words, head

    def adposition(self, concept: str, thing: Thing, host: Features | None) -> tuple[str, str]:
        """Leave out ``里`` after names of places."""
        case, pattern = self.adpositions[concept]
        return (case, "在 _") if concept == "in" and thing.noun in LOCATIONS else (case, pattern)

    def marker(self, form: str, head: Word, sources: tuple[str, ...]) -> list[Word]:
        """Return an adposition; ``的`` is a particle."""
        words = super().marker(form, head, sources)
        if form == "的":
            words[0].upos = "PART"
        return words

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Mark the past with ``了``, or with ``没有`` when denied."""
        slots, head = super().verbal(clause, features, path)
        if clause.negated:
            slots["N"] = [self.negation(path, head, clause.past, "ADV")]
        elif clause.past:
            slots["X"] = [Word("了", "了", "AUX", "aux", (), head)]
        return slots, head

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Say ``很`` with adjectives and ``是`` with kinds."""
        slots, head = super().nominal(clause, features, path)
        if clause.negated:
            slots["N"] = [self.negation(path, head, upos="ADV")]
        elif is_adjective(clause.predicate) and not clause.intensified:
            slots["C"] = [Word("很", "很", "ADV", "advmod", (), head)]
        return slots, head

    def copula(self, clause: Clause, features: Features) -> str:
        """Return ``是`` before kinds."""
        return "" if is_adjective(clause.predicate) else self.other("be")

    def capitalised(self, form: str) -> str:
        """Return ``form``: the script has one case."""
        return form


class TenseByWord(Language):
    """A word before the verb for the past, one for the negation; attributes after the noun."""

    clause_order, fronted_order = "SXNCVAOMPT", "TSXNCVAOMP"
    subordinate_order = clause_order
    past_marker: str

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Add the marker of the past."""
        slots, head = super().verbal(clause, features, path)
        if clause.past:
            form = self.past_marker
            slots["X"] = [Word(form, form, "AUX", "aux", (path + ".predicate",), head)]
        return slots, head

    def copula(self, clause: Clause, features: Features) -> str:
        """Return a copula before kinds, none before adjectives."""
        return "" if is_adjective(clause.predicate) else self.other("be")


class Vietnamese(TenseByWord):
    """Classifiers before the noun, attributes and demonstratives after it."""

    code, name, script = "vi", "Vietnamese", "LATIN"
    namespaces = ("Tập tin", "Bản mẫu", "Thể loại")
    phrase_order = "DQHAXG"
    interrogatives = table("who ai ai; what cái_gì cái_gì; where ở_đâu")
    past_marker = "đã"

    # noun and classifier, if it has one
    nouns = table("""
        person con_người -; man đàn_ông người; woman phụ_nữ người; boy cậu_bé -; girl cô_bé -
        teacher giáo_viên -; doctor bác_sĩ -; student sinh_viên -; farmer nông_dân -; king vua vị
        writer nhà_văn -; soldier lính người; merchant thương_nhân -; animal động_vật -
        dog chó con; cat mèo con; horse ngựa con; bird chim con; cow bò con; wolf sói con
        bear gấu con; place địa_điểm -; city thành_phố -; village làng ngôi; school trường ngôi
        hospital bệnh_viện -; house nhà ngôi; garden vườn khu; market chợ khu; forest rừng khu
        island đảo hòn; castle lâu_đài tòa; fruit trái_cây -; apple táo quả; orange cam quả
        lemon chanh quả; pear lê quả; text văn_bản -; book sách quyển; letter thư bức
        newspaper báo tờ; story truyện -; tool dụng_cụ -; knife dao cái; hammer búa cái
        axe rìu cái; object đồ_vật -; table bàn cái; chair ghế cái; box hộp cái; lamp đèn cái
        clock đồng_hồ cái; plant thực_vật -; tree cây -; flower hoa bông; rose hồng bông
        vehicle phương_tiện -; car ô_tô chiếc; boat thuyền chiếc; bicycle xe_đạp chiếc
    """)
    names = table("""
        anna Anna; maria Maria; sara Sara; omar Omar; ivan Ivan; lucas Lucas; paris Paris
        berlin Berlin; moscow Mátxcơva; delhi Delhi; madrid Madrid; cairo Cairo; india Ấn_Độ
        egypt Ai_Cập; siemens Siemens; toyota Toyota; airbus Airbus; reuters Reuters
    """)
    verbs = table("""
        see thấy; find tìm; love yêu; hate ghét; visit thăm; follow theo; know biết; buy mua
        sell bán; read đọc; write viết; eat ăn; carry mang; open mở; close đóng; paint vẽ
        sleep ngủ; work làm_việc; run chạy; walk đi_bộ; play chơi; laugh cười; cry khóc; sing hát
        wait chờ; swim bơi; arrive đến; leave rời_đi; dance múa
    """)
    adjectives = table("""
        big lớn; small nhỏ; old già; young trẻ; good tốt; bad tồi; happy vui; sad buồn
        strong khỏe; weak yếu; beautiful đẹp; ugly xấu; tired mệt; hungry đói; rich giàu
        poor nghèo; famous nổi_tiếng; new mới; black đen; white trắng; red đỏ; green xanh
        clean sạch; dirty bẩn; long dài; short ngắn; heavy nặng; light nhẹ; expensive đắt
        cheap rẻ; quiet yên_tĩnh
    """)
    others = table("""
        now bây_giờ; today hôm_nay; yesterday hôm_qua; often thường; always luôn
        sometimes đôi_khi; quickly nhanh; slowly chậm; quietly lặng_lẽ; carefully cẩn_thận
        very rất; he anh_ấy; she cô_ấy; they họ; three ba; four bốn; five năm; seven bảy
        ten mười; definite các; indefinite một những; this này; many nhiều; and và; but nhưng
        because vì; not không; be là
    """)
    adpositions = patterns("""
        in - trong _; near - gần _; with - với _; for - cho _; of - của _; to - tới _
        from - từ _
    """)

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return plural word, number and classifier, and the demonstrative."""
        determiner = thing.determiner
        if not determiner:
            return []
        words = []
        if features.counted:
            words.append(("Q", self.other(determiner), "NUM", "nummod"))
        elif determiner == "many":
            words.append(("Q", self.other("many"), "DET", "det"))
        elif determiner == "definite" and features.plural:
            words.append(("D", self.other("definite"), "DET", "det"))
        elif determiner == "indefinite":
            words.append(("D", self.other("indefinite", features.plural), "DET", "det"))
        elif determiner == "this":
            words.append(("X", self.other("this"), "DET", "det"))
            if features.plural:
                words.append(("D", self.other("indefinite", 1), "DET", "det"))
        classifier = self.nouns[thing.noun][1]
        if classifier != "-":
            words.append(("Q", classifier, "NOUN", "clf"))
        return words


class Indonesian(TenseByWord):
    """Plurals by doubling; owners follow what they own without a preposition."""

    code, name, script = "id", "Indonesian", "LATIN"
    namespaces = ("Berkas", "Templat", "Kategori")
    phrase_order = "DQHAXG"
    interrogatives = table("who siapa siapa; what apa apa; where di_mana")
    past_marker = "telah"

    nouns = table("""
        person orang; man pria; woman wanita; boy pemuda; girl gadis; teacher guru; doctor dokter
        student siswa; farmer petani; king raja; writer penulis; soldier tentara
        merchant pedagang; animal hewan; dog anjing; cat kucing; horse kuda; bird burung
        cow sapi; wolf serigala; bear beruang; place tempat; city kota; village desa
        school sekolah; hospital rumah_sakit; house rumah; garden kebun; market pasar
        forest hutan; island pulau; castle istana; fruit buah; apple apel; orange jeruk
        lemon limau; pear pir; text naskah; book buku; letter surat; newspaper koran
        story cerita; tool alat; knife pisau; hammer palu; axe kapak; object benda; table meja
        chair kursi; box kotak; lamp lampu; clock jam; plant tanaman; tree pohon; flower bunga
        rose mawar; vehicle kendaraan; car mobil; boat perahu; bicycle sepeda
    """)
    names = table("""
        anna Anna; maria Maria; sara Sara; omar Umar; ivan Ivan; lucas Lukas; paris Paris
        berlin Berlin; moscow Moskwa; delhi Delhi; madrid Madrid; cairo Kairo; india India
        egypt Mesir; siemens Siemens; toyota Toyota; airbus Airbus; reuters Reuters
    """)
    verbs = table("""
        see melihat; find menemukan; love mencintai; hate membenci; visit mengunjungi
        follow mengikuti; know mengenal; buy membeli; sell menjual; read membaca; write menulis
        eat makan; carry membawa; open membuka; close menutup; paint melukis; sleep tidur
        work bekerja; run berlari; walk berjalan; play bermain; laugh tertawa; cry menangis
        sing bernyanyi; wait menunggu; swim berenang; arrive tiba; leave pergi; dance menari
    """)
    adjectives = table("""
        big besar; small kecil; old tua; young muda; good baik; bad buruk; happy bahagia
        sad sedih; strong kuat; weak lemah; beautiful indah; ugly jelek; tired lelah
        hungry lapar; rich kaya; poor miskin; famous terkenal; new baru; black hitam; white putih
        red merah; green hijau; clean bersih; dirty kotor; long panjang; short pendek
        heavy berat; light ringan; expensive mahal; cheap murah; quiet tenang
    """)
    others = table("""
        now sekarang; today hari_ini; yesterday kemarin; often sering; always selalu
        sometimes kadang; quickly cepat; slowly perlahan; quietly diam-diam; carefully hati-hati
        very sangat; he dia; she dia; they mereka; three tiga; four empat; five lima; seven tujuh
        ten sepuluh; indefinite seorang seekor sebuah; this ini; many banyak; and dan; but tetapi
        because karena; not tidak bukan; be adalah
    """)
    adpositions = patterns("""
        in - di _; near - dekat _; with - dengan _; for - untuk _; of - _; to - ke _
        from - dari _
    """)

    def noun(self, noun: str, features: Features) -> str:
        """Double the noun for the plural unless a number says it already."""
        form = self.entry(noun)[0]
        if not features.plural or features.counted or features.determiner == "many":
            return form
        first, _, rest = form.partition(" ")
        return f"{first}-{first} {rest}".strip()

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return number, quantifier, demonstrative, or ``one`` by what is counted."""
        determiner = thing.determiner
        if features.counted:
            return [("Q", self.other(determiner), "NUM", "nummod")]
        if determiner == "many":
            return [("Q", self.other("many"), "DET", "det")]
        if determiner == "this":
            return [("X", self.other("this"), "DET", "det")]
        if determiner == "indefinite" and not features.plural:
            form = 0 if features.human else 1 if features.animate else 2
            return [("D", self.other("indefinite", form), "DET", "det")]
        return []

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Deny kinds with ``bukan``."""
        slots, head = super().nominal(clause, features, path)
        if clause.negated and not is_adjective(clause.predicate):
            slots["N"] = [self.negation(path, head, 1)]
        return slots, head
