#!/usr/bin/env bash
# lxml 6.1.3: an XPath with a function that doesn't exist compiles, and works until a document has something to ask.
#
# A condition is only evaluated where its path leads to an element. So a rule with a function of XPath 2.0 passes its
# trial, and fails with the first document that it is for.
. "$(dirname "$0")/shared.sh"
python lxml==6.1.3

evaluate() {
    python3 - <<'END'
from lxml import etree

xpath = etree.XPath("/Invoice/Note[matches(., '^PO')]")
for document in ("<Order/>", "<Invoice/>", "<Invoice><Note>PO 1</Note></Invoice>"):
    try:
        print(document, xpath(etree.fromstring(document)))
    except etree.XPathEvalError as error:
        print(document, "XPathEvalError:", error)
END
}

expect evaluate <<'END'
<Order/> []
<Invoice/> []
<Invoice><Note>PO 1</Note></Invoice> XPathEvalError: Unregistered function
END
