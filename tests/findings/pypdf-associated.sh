#!/usr/bin/env bash
# pypdf 7.1.1: a file that only the catalog's AF lists is no attachment.
#
# ISO 19005-3 asks for AF, and Factur-X for the name tree EmbeddedFiles as well. An invoice whose XML is in AF alone
# looks like a PDF without one.
. "$(dirname "$0")/shared.sh"
python pypdf==7.1.1 typing_extensions==4.16.0

attachments() {
    python3 - <<'END'
import io
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, EmbeddedFile, NameObject

def invoice(listed_in):
    pdf = PdfWriter()
    pdf.add_blank_page(100, 100)
    pdf.add_attachment("factur-x.xml", b"<Invoice/>")
    names = pdf.root_object.pop("/Names") if listed_in == "/AF" else pdf.root_object["/Names"]
    if listed_in == "/AF":
        pdf.root_object[NameObject("/AF")] = ArrayObject([names["/EmbeddedFiles"]["/Names"][1]])
    file = io.BytesIO()
    pdf.write(file)
    return PdfReader(file)

for listed_in in ("/Names", "/AF"):
    print(f"{listed_in}: {dict(invoice(listed_in).attachments)}")
associated = invoice("/AF").root_object["/AF"][0].get_object()
print("read from /AF by hand:", EmbeddedFile("", associated).content)
END
}

expect attachments <<'END'
/Names: {'factur-x.xml': [b'<Invoice/>']}
/AF: {}
read from /AF by hand: b'<Invoice/>'
END
