"""The subset of a font that one document uses, embedded with the text its glyphs stand for."""

from __future__ import annotations

from hashlib import sha256

import pydyf

from emulator.presentation.pdf.fonts import EM, Face, Glyph


class FontSubset:
    """One font in one document: the glyphs in use and the text each stands for."""

    def __init__(self, face: Face, number: int) -> None:
        self.face = face
        self.name = f"F{number}"
        self.texts: dict[int, str] = {}

    def use(self, glyphs: list[Glyph]) -> None:
        """Include these glyphs."""
        for glyph in glyphs:
            self.texts[glyph.id] = self.texts.get(glyph.id) or glyph.text

    def embed(self, pdf: pydyf.PDF) -> bytes:
        """Add the glyphs in use to the document and return a reference to the font."""
        file = self.face.subset(self.texts)
        tag = "".join(chr(65 + byte % 26) for byte in sha256(file).digest()[:6])
        name = f"/{tag}+{self.face.name}"
        ascent, descent = self.face.extents()
        descriptor = {
            "Type": "/FontDescriptor",
            "FontName": name,
            "Flags": 4,
            "FontBBox": pydyf.Array([0, descent, EM, ascent]),
            "ItalicAngle": 0,
            "Ascent": ascent,
            "Descent": descent,
            "CapHeight": 690,
            "StemV": 80,
            "FontFile2": add(pdf, pydyf.Stream([file], {"Length1": len(file)}, compress=True)),
        }
        descendant = {
            "Type": "/Font",
            "Subtype": "/CIDFontType2",
            "BaseFont": name,
            "CIDSystemInfo": pydyf.Dictionary(
                {"Registry": pydyf.String("Adobe"), "Ordering": pydyf.String("Identity"), "Supplement": 0}
            ),
            "CIDToGIDMap": "/Identity",
            "DW": EM,
            "W": self._widths(),
            "FontDescriptor": add(pdf, pydyf.Dictionary(descriptor)),
        }
        font = {
            "Type": "/Font",
            "Subtype": "/Type0",
            "BaseFont": name,
            "Encoding": "/Identity-H",
            "DescendantFonts": pydyf.Array([add(pdf, pydyf.Dictionary(descendant))]),
            "ToUnicode": add(pdf, pydyf.Stream([self._to_unicode()], compress=True)),
        }
        return add(pdf, pydyf.Dictionary(font))

    def _widths(self) -> pydyf.Array:
        return pydyf.Array(
            part for glyph in sorted(self.texts) for part in (glyph, pydyf.Array([self.face.width(glyph)]))
        )

    def _to_unicode(self) -> str:
        """The text of each glyph, which viewers need to search and copy."""
        pairs = [
            f"<{glyph:04x}> <{text.encode('utf-16-be').hex()}>" for glyph, text in sorted(self.texts.items()) if text
        ]
        blocks = [pairs[at : at + 100] for at in range(0, len(pairs), 100)]  # the format's limit for a block
        entries = ["\n".join([f"{len(block)} beginbfchar", *block, "endbfchar"]) for block in blocks]
        return _CMAP.format(entries="\n".join(entries))


_CMAP = """/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <ffff>
endcodespacerange
{entries}
endcmap
CMapName currentdict /CMap defineresource pop
end
end"""


def add(pdf: pydyf.PDF, part: pydyf.Object) -> bytes:
    """Add an object to the document and return its reference."""
    pdf.add_object(part)
    return bytes(part.reference)
