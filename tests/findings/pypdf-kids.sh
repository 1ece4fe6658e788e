#!/usr/bin/env bash
# pypdf 7.1.1: attachments are missing if their tree of names has more than one level of Kids.
#
# ISO 32000 (7.9.6) lets a tree of names have any depth. The answer is an empty list, without an error. Walking Kids by
# hand finds the file, as poppler 22.12 does.
. "$(dirname "$0")/shared.sh"
python pypdf==7.1.1 typing_extensions==4.16.0

attachments() {
    python3 - <<'END'
import io
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, EmbeddedFile, NameObject

def invoice(levels):
    pdf = PdfWriter()
    pdf.add_blank_page(100, 100)
    pdf.add_attachment("factur-x.xml", b"<Invoice/>")
    names = pdf.root_object["/Names"]
    name = names["/EmbeddedFiles"]["/Names"][0]
    for _ in range(levels):
        tree = names["/EmbeddedFiles"]
        tree[NameObject("/Limits")] = ArrayObject([name, name])  # the first and the last name, except in the root
        parent = DictionaryObject({NameObject("/Kids"): ArrayObject([pdf._add_object(tree)])})
        names[NameObject("/EmbeddedFiles")] = pdf._add_object(parent)
    file = io.BytesIO()
    pdf.write(file)
    return PdfReader(file)

for levels in range(4):
    reader = invoice(levels)
    listed = len(list(reader.attachment_list))
    print(f"{levels} levels of Kids: {dict(reader.attachments)}, {listed} in attachment_list")
node = reader.root_object["/Names"]["/EmbeddedFiles"]
while "/Kids" in node:
    node = node["/Kids"][0].get_object()
print("read by hand:", EmbeddedFile("", node["/Names"][1].get_object()).content)
END
}

expect attachments <<'END'
0 levels of Kids: {'factur-x.xml': [b'<Invoice/>']}, 1 in attachment_list
1 levels of Kids: {'factur-x.xml': [b'<Invoice/>']}, 1 in attachment_list
2 levels of Kids: {}, 0 in attachment_list
3 levels of Kids: {}, 0 in attachment_list
read by hand: b'<Invoice/>'
END
