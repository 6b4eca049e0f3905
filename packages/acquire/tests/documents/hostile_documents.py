"""Documents that attack their reader, made from a seed: bombs, loops, broken tables, links, macros and wrong kinds."""

import io
import random
import struct
import zipfile
import zlib

from packages.acquire.tests.documents.written_documents import as_docx, as_eml, as_html, as_pdf, as_xlsx, as_zip

BLOCKS = ("# Fleet", "The fleet has 42 vans.", [["Item", "Cost (EUR/year)"], ["Tax", "310"]])
_LAUGHS = (
    '<!DOCTYPE z [<!ENTITY a "haha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(10))
    + "]>"
)


def hostile_documents(maker, seed, count, canary, port):
    """Yield names and bytes of one kind, of `count` documents of all kinds.

    `canary` is a file that none may read, `port` one of this machine that none may reach.
    """
    for number in range(MAKERS.index(maker), count, len(MAKERS)):
        chance = random.Random(f"{seed}/{number}")
        suffix, content = globals()[maker](chance, canary, port)
        yield f"{number:04}_{maker.removeprefix('_make_')}{suffix}", content


def _rebuilt(content, changes, extra=()):
    """Return an office document with some of its files changed: each change is a function of the file's bytes."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    files = [(name, changes.get(name, lambda old: old)(archive.read(name))) for name in archive.namelist()]
    return as_zip([*files, *extra])


def _pdf(objects, trailer="<</Root 1 0 R>>", xref=True):
    """Return a PDF file of raw objects, numbered from 1."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + (each if isinstance(each, bytes) else each.encode()) + b"\nendobj\n"
    start = len(out)
    if xref:
        out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
        out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    return bytes(out + f"trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n".encode())


def _stream(content, keys=""):
    return f"<</Length {len(content)}{keys}>>stream\n".encode() + content + b"\nendstream"


def _page(content, keys="", box="0 0 595 842"):
    return [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        (
            f"<</Type/Page/Parent 2 0 R/MediaBox[{box}]/Contents 4 0 R"
            f"/Resources<</Font<</F 5 0 R>>/XObject<</X 4 0 R>>>>{keys}>>"
        ),
        content,
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]


def _make_zip_bomb(chance, canary, port):
    zeros = b"\0" * (chance.randint(20, 40) * 2**20)
    return ".zip", as_zip([(f"{n}.txt", zeros) for n in range(chance.randint(3, 5))])


def _make_zip_within_zips(chance, canary, port):
    content = as_zip([("a.txt", b"42 vans")])
    for depth in range(chance.randint(3, 40)):
        content = as_zip([(f"{depth}.zip", content)])
    return ".zip", content


def _make_zip_overlap(chance, canary, port):
    """Many entries of the directory lead to the same bytes."""
    data = zlib.compress(b"\0" * 2**20, 9)[2:-4]
    sum32 = zlib.crc32(b"\0" * 2**20)
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 33, sum32, len(data), 2**20, 5, 0) + b"a.txt" + data
    count = chance.randint(100, 5_000)
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 33, sum32, len(data), 2**20, 5, 0, 0, 0, 0, 0, 0)
    directory = (entry + b"a.txt") * count
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), len(local), 0)
    return ".zip", local + directory + end


def _make_zip_lies(chance, canary, port):
    """The directory states a small size for a member that unpacks to much more."""
    content = bytearray(as_zip([("a.csv", b"a;b\n" * chance.randint(10**5, 10**6))]))
    at = content.rindex(b"PK\1\2")
    content[at + 24 : at + 28] = struct.pack("<I", chance.randint(0, 100))
    return ".zip", bytes(content)


def _make_zip_escape(chance, canary, port):
    names = [
        "../../../../tmp/escaped.txt",
        "/etc/cron.d/escaped.txt",
        "..\\..\\escaped.txt",
        "C:\\escaped.txt",
        "a\nb.txt",
    ]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        for name in chance.sample(names, 3):
            written.writestr(name, "escaped")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        written.writestr(link, str(canary))
    return ".zip", archive.getvalue()


def _make_zip_many(chance, canary, port):
    return ".zip", as_zip([(f"{n}.txt", b"x") for n in range(chance.randint(300, 3_000))])


def _entities(chance, canary, port):
    outside = f'<!DOCTYPE z [<!ENTITY k SYSTEM "file://{canary}"><!ENTITY a "x">]>'
    address = f"http://127.0.0.1:{port}/x"
    reached = f'<!DOCTYPE z [<!ENTITY k SYSTEM "{address}"><!ENTITY % p SYSTEM "{address}"> %p;]>'
    return chance.choice([(_LAUGHS, "&k;"), (outside, "&k;"), (reached, "&k;")])


def _with_entity(content, name, tag, entities):
    declared, used = entities

    def change(old):
        text = old.decode()
        begin = text.index("?>") + 2 if text.startswith("<?xml") else 0
        at = text.index(tag) + len(tag)
        return (text[:begin] + declared + text[begin:at] + used + text[at:]).encode()

    return _rebuilt(content, {name: change})


def _make_docx_entities(chance, canary, port):
    return ".docx", _with_entity(as_docx(BLOCKS), "word/document.xml", "<w:t>", _entities(chance, canary, port))


def _make_xlsx_entities(chance, canary, port):
    return ".xlsx", _with_entity(as_xlsx(BLOCKS), "xl/sharedStrings.xml", "<t>", _entities(chance, canary, port))


def _make_docx_deep(chance, canary, port):
    depth = chance.randint(10**4, 10**5)
    deep = b"<w:tbl><w:tr><w:tc>" * depth + b"</w:tc></w:tr></w:tbl>" * depth
    return ".docx", _rebuilt(
        as_docx(BLOCKS), {"word/document.xml": lambda old: old.replace(b"<w:body>", b"<w:body>" + deep)}
    )


def _make_docx_wide(chance, canary, port):
    """A cell that spans a million columns."""
    span = f'<w:tcPr><w:gridSpan w:val="{10 ** chance.randint(5, 9)}"/>'.encode()
    return ".docx", _rebuilt(as_docx(BLOCKS), {"word/document.xml": lambda old: old.replace(b"<w:tcPr>", span)})


def _make_docx_merged_upwards(chance, canary, port):
    merged = b"<w:tcPr><w:vMerge/>"
    return ".docx", _rebuilt(as_docx(BLOCKS), {"word/document.xml": lambda old: old.replace(b"<w:tcPr>", merged)})


def _make_docx_template(chance, canary, port):
    where = chance.choice([f"http://127.0.0.1:{port}/t.dotm", f"file://{canary}", "\\\\127.0.0.1\\share\\t.dotm"])
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/" + chance.choice(
        ["attachedTemplate", "oleObject"]
    )
    row = f'<Relationship Id="rIdX" Type="{kind}" Target="{where}" TargetMode="External"/></Relationships>'.encode()
    name = "word/_rels/document.xml.rels"
    return ".docx", _rebuilt(as_docx(BLOCKS), {name: lambda old: old.replace(b"</Relationships>", row)})


def _make_docx_macro(chance, canary, port):
    return ".docx", _rebuilt(as_docx(BLOCKS), {}, [("word/vbaProject.bin", chance.randbytes(500))])


def _make_docx_without_parts(chance, canary, port):
    archive = zipfile.ZipFile(io.BytesIO(as_docx(BLOCKS)))
    names = [name for name in archive.namelist() if chance.random() < 0.6]
    return ".docx", as_zip([(name, archive.read(name)) for name in names])


def _make_xlsx_formulas(chance, canary, port):
    formulas = [
        f'=WEBSERVICE("http://127.0.0.1:{port}/")',
        f"='file://{canary}'!A1",
        "=cmd|' /C calc'!A0",
        f'=HYPERLINK("http://127.0.0.1:{port}/","42 vans")',
        "=A1+A2",
    ]
    return ".xlsx", as_xlsx([[["Item", "Cost"], ["Tax", chance.choice(formulas)], ["Fee", chance.choice(formulas)]]])


def _make_xlsx_links(chance, canary, port):
    link = f'<externalLink><externalBook Target="http://127.0.0.1:{port}/b.xlsx"/></externalLink>'.encode()
    return ".xlsx", _rebuilt(as_xlsx(BLOCKS), {}, [("xl/externalLinks/externalLink1.xml", link)])


def _make_xlsm(chance, canary, port):
    return ".xlsm", _rebuilt(as_xlsx(BLOCKS), {}, [("xl/vbaProject.bin", chance.randbytes(500))])


def _make_xlsx_huge(chance, canary, port):
    """Cells at the far end of a sheet, or merged cells over all of it."""
    name = "xl/worksheets/sheet1.xml"
    row = b'<row r="1048576"><c r="XFD1048576"><v>5</v></c></row></sheetData>'
    corner = chance.choice([b"XFD1048576", b"ZZ99999", b"A1048576"])
    merged = b'</sheetData><mergeCells><mergeCell ref="A1:' + corner + b'"/></mergeCells>'
    change = chance.choice([row, merged, row + merged.removeprefix(b"</sheetData>")])
    return ".xlsx", _rebuilt(as_xlsx(BLOCKS), {name: lambda old: old.replace(b"</sheetData>", change)})


def _make_xlsx_many_cells(chance, canary, port):
    rows = b"".join(
        f'<row r="{n}">'.encode() + b"".join(b"<c><v>1</v></c>" for _ in range(100)) + b"</row>" for n in range(10, 210)
    )
    name = "xl/worksheets/sheet1.xml"
    return ".xlsx", _rebuilt(as_xlsx(BLOCKS), {name: lambda old: old.replace(b"</sheetData>", rows + b"</sheetData>")})


def _make_xlsx_wrong_strings(chance, canary, port):
    wrong = str(chance.choice([10**9, -5, "x"])).encode()
    name = "xl/worksheets/sheet1.xml"
    return ".xlsx", _rebuilt(as_xlsx(BLOCKS), {name: lambda old: old.replace(b"<v>0</v>", b"<v>" + wrong + b"</v>")})


def _make_pdf_page_loop(chance, canary, port):
    kids = chance.choice(["[2 0 R]", "[2 0 R 3 0 R 2 0 R]", "[3 0 R " * 1 + "3 0 R]", "2 0 R", "[99 0 R]"])
    objects = _page(_stream(b"BT /F 9 Tf 9 9 Td (42 vans) Tj ET"))
    objects[1] = f"<</Type/Pages/Kids{kids}/Count {10 ** chance.randint(1, 12)}/Parent 2 0 R>>"
    return ".pdf", _pdf(objects)


def _make_pdf_deep_pages(chance, canary, port):
    depth = chance.randint(500, 20_000)
    nodes = [f"<</Type/Pages/Kids[{n + 1} 0 R]/Count 1>>" for n in range(2, depth)]
    return ".pdf", _pdf(["<</Type/Catalog/Pages 2 0 R>>", *nodes, "<</Type/Page/MediaBox[0 0 9 9]>>"])


def _make_pdf_broken_xref(chance, canary, port):
    content = as_pdf(BLOCKS)
    at = content.rindex(b"startxref")
    wrong = chance.choice([b"0", b"99999999999999999999", b"-1", b"x", str(at).encode()])
    return ".pdf", content[:at] + b"startxref\n" + wrong + b"\n%%EOF"


def _make_pdf_xref_loop(chance, canary, port):
    """The table of an earlier version is this one again."""
    objects = _page(_stream(b"BT /F 9 Tf 9 9 Td (42 vans) Tj ET"))
    start = _pdf(objects).rindex(b"xref\n0")
    return ".pdf", _pdf(objects, f"<</Root 1 0 R/Size 6/Prev {start}>>")


def _make_pdf_stream_bomb(chance, canary, port):
    layers = chance.randint(1, 3)
    content = b"BT /F 9 Tf (42 vans) Tj ET " * 2**7 + b" " * chance.randint(5, 20) * 2**20
    for _ in range(layers):
        content = zlib.compress(content, 9)
    return ".pdf", _pdf(_page(_stream(content, f"/Filter[{'/FlateDecode' * layers}]")))


def _make_pdf_form_loop(chance, canary, port):
    """A form that draws itself, twice each time."""
    keys = "/Type/XObject/Subtype/Form/BBox[0 0 99 99]/Resources<</XObject<</X 4 0 R>>>>"
    return ".pdf", _pdf(_page(_stream(b"/X Do " * chance.randint(1, 3), keys)))


def _make_pdf_deep_array(chance, canary, port):
    depth = chance.randint(1_000, 300_000)
    return ".pdf", _pdf(_page(_stream(b"[" * depth + b"]" * depth + b" TJ"), "/X" + "[" * depth + "]" * depth))


def _make_pdf_length_loop(chance, canary, port):
    return ".pdf", _pdf(_page(b"<</Length 4 0 R/Filter 4 0 R>>stream\nBT (x) Tj ET\nendstream"))


def _make_pdf_huge_page(chance, canary, port):
    box = chance.choice(
        ["0 0 1e300 1e300", "0 0 999999999999 9", "-1e9 -1e9 1e9 1e9", "0 0 0 0", "a b c d", "0 0 NaN 1"]
    )
    return ".pdf", _pdf(_page(_stream(b"BT /F 1e30 Tf 1e300 9 Td (42 vans) Tj ET"), box=box))


def _make_pdf_many_objects(chance, canary, port):
    dots = b"".join(b"%d %d 1 1 re S " % (n % 600, n % 800) for n in range(chance.randint(500, 5_000)))
    return ".pdf", _pdf(_page(_stream(zlib.compress(dots), "/Filter/FlateDecode")))


def _make_pdf_actions(chance, canary, port):
    action = chance.choice(
        [
            f"<</S/URI/URI(http://127.0.0.1:{port}/)>>",
            f'<</S/JavaScript/JS(app.launchURL\\("http://127.0.0.1:{port}/"\\))>>',
            f"<</S/Launch/F({canary})>>",
            f"<</S/GoToR/F({canary})>>",
        ]
    )
    objects = _page(_stream(b"BT /F 9 Tf 9 9 Td (42 vans) Tj ET"))
    objects[0] = f"<</Type/Catalog/Pages 2 0 R/OpenAction {action}/Names<</EmbeddedFiles<</Names[(a)<<>>]>>>>>>"
    return ".pdf", _pdf(objects)


def _make_pdf_outside_map(chance, canary, port):
    """A font whose map of characters is a file of this machine, which an old reader would unpickle."""
    objects = _page(_stream(b"BT /F 9 Tf 9 9 Td (42 vans) Tj ET"))
    name = "/" + "".join(f"#{byte:02x}" for byte in f"../../../../../..{canary}".encode())
    inner = "<</Type/Font/Subtype/CIDFontType0/BaseFont/A>>"
    objects[4] = f"<</Type/Font/Subtype/Type0/BaseFont/A/Encoding {name}/DescendantFonts[{inner}]>>"
    return ".pdf", _pdf(objects)


def _make_eml_deep(chance, canary, port):
    content = as_eml(BLOCKS, "42 vans")
    for _ in range(chance.randint(3, 60)):
        content = b"Subject: x\nMIME-Version: 1.0\nContent-Type: message/rfc822\n\n" + content
    return ".eml", content


def _make_eml_boundaries(chance, canary, port):
    count = chance.randint(1_000, 3_000)
    head = b"Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    return ".eml", head + b"--b\nContent-Type: text/plain\n\n42 vans\n" * count + b"--b--\n"


def _make_eml_broken(chance, canary, port):
    rows = [
        b"Subject: =?utf-8?b?////?= =?x?q?=FF?=",
        b"Content-Type: text/plain; charset=" + chance.choice([b"none-such", b"utf-7", b"zlib_codec", b"idna", b'"']),
        b"Content-Transfer-Encoding: " + chance.choice([b"base64", b"x-uuencode", b"quoted-printable", b"8bit"]),
        b"X: " + b"a" * chance.randint(10, 10**6),
    ]
    return ".eml", b"\n".join(rows) + b"\n\n" + chance.randbytes(2_000)


def _make_eml_names(chance, canary, port):
    name = chance.choice(["../../escaped.csv", "/etc/escaped.txt", "a\u202etxt.exe.csv", "x" * 5_000 + ".csv"])
    return ".eml", as_eml(BLOCKS, "42 vans", [(name, b"a;b\n1;2\n")])


def _make_eml_html_bomb(chance, canary, port):
    page = chance.choice([b"<", b"<table>", b"<!--", b"<td>", b"&"]) * 200_000
    return ".eml", b"Subject: x\nMIME-Version: 1.0\nContent-Type: text/html\n\n" + page


def _make_truncated(chance, canary, port):
    suffix, content = chance.choice(_whole())
    return suffix, content[: chance.randrange(len(content))]


def _make_damaged(chance, canary, port):
    suffix, content = chance.choice(_whole())
    changed = bytearray(content)
    for _ in range(chance.randint(1, 200)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return suffix, bytes(changed)


def _make_wrong_kind(chance, canary, port):
    (suffix, _), (other, content) = chance.sample(_whole(), 2)
    return (suffix if suffix != other else ".pdf"), content


def _make_noise(chance, canary, port):
    begin = chance.choice([b"", b"%PDF-1.7\n", b"PK\3\4", b"PK\5\6", b"\xd0\xcf\x11\xe0", b"Subject: x\n\n"])
    return chance.choice([".pdf", ".docx", ".xlsx", ".eml", ".zip"]), begin + chance.randbytes(chance.randint(0, 5_000))


def _make_empty(chance, canary, port):
    return chance.choice([".pdf", ".docx", ".xlsx", ".eml", ".zip"]), b""


def _whole():
    return [
        (".pdf", as_pdf(BLOCKS)),
        (".docx", as_docx(BLOCKS)),
        (".xlsx", as_xlsx(BLOCKS)),
        (".eml", as_eml(BLOCKS, "42 vans", [("a.xlsx", as_xlsx(BLOCKS))])),
        (".zip", as_zip([("a.html", as_html(BLOCKS)), ("a.docx", as_docx(BLOCKS))])),
    ]


MAKERS = sorted(name for name in globals() if name.startswith("_make_"))
"""The names of the functions that make one kind each."""
