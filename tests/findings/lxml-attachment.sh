#!/usr/bin/env bash
# lxml 6.1.3 (libxml2 2.14.6): an invoice with an attachment of more than 7.5 MB isn't read, unless huge_tree is set.
#
# UBL embeds attachments as Base64 in one element, and a text of more than ten million characters is refused.
. "$(dirname "$0")/shared.sh"
python lxml==6.1.3

parse() {
    python3 - <<'END'
import base64
from lxml import etree

for size in (7_400_000, 7_600_000):
    embedded = base64.b64encode(bytes(size))
    invoice = b"<Invoice><EmbeddedDocumentBinaryObject>" + embedded + b"</EmbeddedDocumentBinaryObject></Invoice>"
    for huge_tree in (False, True):
        try:
            etree.fromstring(invoice, etree.XMLParser(huge_tree=huge_tree))
            answer = "read"
        except etree.XMLSyntaxError as error:
            answer = error.msg.partition(",")[0]
        print(f"{size / 1e6} MB, huge_tree={huge_tree}: {answer}")
END
}

expect parse <<'END'
7.4 MB, huge_tree=False: read
7.4 MB, huge_tree=True: read
7.6 MB, huge_tree=False: Resource limit exceeded: Text node too long
7.6 MB, huge_tree=True: read
END
