"""Markup of variants as MediaWiki shows it, by its manual and its class ConverterRule."""

import pytest

from mbert_atlas.corpora.variants import without_variants

SHOWN = {
    "-{里}-": "里",
    "-{zh-hans:计算机;zh-hant:電腦}-": "计算机",
    "-{zh-tw:電腦; ZH-CN:计算机;}-": "计算机",
    "-{zh-tw:電腦;zh-hk:電算}-": "電腦",
    "-{zh-hans:;zh-hant:電腦}-": "電腦",
    "-{zh-cn:A: B&amp;C;zh-tw:D}-": "A: B&amp;C",
    "-{X=>zh-hans:Y}-": "Y",
    "-{A|zh-hans:a;zh-hant:b}-": "a",
    "-{H|zh-hans:a;zh-hant:b}-c": "c",
    "-{T|title}--{-|zh-hans:a}--{H|X=>zh-cn:Y}-": "",
    "-{R|zh-hans:a}-": "zh-hans:a",
    "-{D|zh-hans:a;zh-hant:b}-": "zh-hans:a;zh-hant:b",
    "-{zh-hans;zh-cn|text}-": "text",
    "-{[[a|b]]}-": "[[a|b]]",
    "-{http://x.org}-": "http://x.org",
    "a-{}-b": "ab",
    "-{zh-hans:a-{b}-c;zh-hant:d}-": "abc",
    "-{zh-hans:{{x|y}};zh-hant:{{z}}}-.": "{{x|y}}.",
    "-{zh-cn:<math>x^{2}-1</math>;zh-tw:b}-": "<math>x^{2}-1</math>",
}


@pytest.mark.parametrize("markup", SHOWN)
def test_what_readers_see(markup: str) -> None:
    text, count = without_variants(f"({markup})", "zh")
    assert text == f"({SHOWN[markup]})"
    assert count == markup.count("-{")


@pytest.mark.parametrize(
    "text",
    [
        "an unclosed -{zh-hans:a",
        "-{{template}}-",
        "<math>x_{-{a}-}</math>",
        "<nowiki>-{a}-</nowiki>",
        "<pre class='x'>-{a}-</pre>",
        "<!-- -{a}- -->",
    ],
)
def test_what_is_no_markup_stays(text: str) -> None:
    assert without_variants(text, "zh") == (text, 0)


def test_each_language_has_its_converter_or_none() -> None:
    assert without_variants("-{sr-el:more;sr-ec:море}-", "sr") == ("море", 1)
    assert without_variants("-{ike-latn:imaq;ike-cans:ᐃᒪᖅ}-", "iu") == ("ᐃᒪᖅ", 1)
    assert without_variants("-{zh-hans:a;zh-hant:b}-", "sr") == ("zh-hans:a;zh-hant:b", 1)
    assert without_variants("-{a}-", "en") == ("-{a}-", 0)


@pytest.mark.parametrize("unclosed", ["<nowiki>", "<!--", "<math>x</math><math>"])
def test_unclosed_tags_hide_nothing(unclosed: str) -> None:
    text, number = without_variants(
        unclosed * 20_000 + "-{甲}-", "zh"
    )  # once this took half a minute
    assert (text, number) == (unclosed * 20_000 + "甲", 1)
