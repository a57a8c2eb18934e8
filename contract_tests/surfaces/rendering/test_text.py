"""Text on its way to paper: lines that fit, whatever is written, and scripts in their own order."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.presentation.pdf import typesetting
from emulator.presentation.pdf.typesetting import Style, clean, wrap

STYLE = Style(size=10)
WIDEST = 30
"""Points: no single character of these fonts is wider at ten points."""

scripts = st.text(st.sampled_from("ab ,-/1€éאבمرحبا王小한ก็न🎉\u0301\u200d\n\t"), max_size=300)


def written(text: str, width: float = 200) -> list[str]:
    return [
        "".join(glyph.text for _, glyphs in line.runs for glyph in glyphs)
        for line in wrap(text, STYLE, width)
    ]


@given(st.one_of(scripts, st.text(max_size=300)), st.floats(WIDEST, 500), st.booleans())
@example("小็1ب小", 30, False)
@settings(max_examples=150, deadline=None)
def test_no_line_is_too_wide_and_nothing_is_lost(text: str, width: float, bold: bool) -> None:
    """Lines have the text's characters, in any order, without the spaces at their ends."""
    lines = wrap(text, STYLE._replace(bold=bold), width)
    assert all(line.width <= width + 0.01 for line in lines)
    drawn = "".join(glyph.text for line in lines for _, glyphs in line.runs for glyph in glyphs)
    assert sorted(drawn.replace(" ", "")) == sorted(clean(text).replace("\n", "").replace(" ", ""))


def test_lines_break_between_words_and_between_characters_of_east_asia() -> None:
    assert written("one two three four", 50) == ["one two", "three four"]
    assert written("王小明王小明王小明", 35) == ["王小明", "王小明", "王小明"]
    assert written("o" * 12, 35) == ["o" * 5, "o" * 5, "o" * 2]


@pytest.mark.parametrize(
    ("text", "visual"),
    [
        ("abc def", "abc def"),
        ("אבג", "גבא"),
        ("אבג דה", "הד גבא"),
        ("abc אבג def", "abc גבא def"),
        ("אבג abc דהו", "והד abc גבא"),
        ("abc אבג 123 def", "abc 123 גבא def"),
        ("אבג 1,234.50 דה", "הד 1,234.50 גבא"),
        ("אבג ١,٢ דה", "הד ١,٢ גבא"),
        ("אבג abc 123 דהו", "והד abc 123 גבא"),
        ("ب 1+2", "2+1 ب"),
        ("אבג 50% דה", "הד 50% גבא"),
        ("אבג €50 דה", "הד €50 גבא"),
        ("car (אבג) x", "car (גבא) x"),
        ("אב (a) ג", "ג (a) בא"),
    ],
)
def test_text_runs_the_way_of_its_script(text: str, visual: str) -> None:
    """UAX #9, by examples; mirrored brackets stand for what they close or open."""
    assert written(text) == [
        visual.translate(str.maketrans("()", ")(")) if typesetting.is_rtl(text) else visual
    ]


def test_arabic_letters_are_joined() -> None:
    """A letter in the middle of a word has another form than alone."""
    [(_, joined)] = wrap("ببب", STYLE, 100)[0].runs
    [(_, alone)] = wrap("ب", STYLE, 100)[0].runs
    assert len({glyph.id for glyph in joined} | {alone[0].id}) == 4


def test_directions_that_someone_wrote_into_a_name_do_nothing() -> None:
    assert clean("a\u202eb\u2066c\u200fd") == "abcd"
    assert written("a\u202ebc") == ["abc"]
