"""A document for people: a sheet of facts, parties, tables and texts, in an accountant's language, and as a page.

renderer = Renderer()                                    by a child process: the document is a stranger's
renderer.sheet(pieces(file), "nb")                       what the document says, in words, and nothing else
renderer.page(pieces(file), "invoice.xml", "nb", {})     the same as a page of HTML that stands on its own
renderer.xml_in(pieces(pdf))                             the XML of an invoice that a PDF contains: Factur-X
meaning("response", "RE")                                what a code means

rendering   Renderer; child: the process that makes sheets and pages

tree        a document as a small tree, without what is embedded in it
sheets      the tree as a sheet: by our stylesheets (XSLT 1.0: ubl*.xsl, cii*.xsl, cdar.xsl), else as an outline
values      a value as its reader writes it, by the element that holds it
words       labels, codes and numbers in a language
labels      the labels in English; codes: the meanings of codes (other languages: texts/languages)
html        a sheet as a page, by a template (page.html, page.css)
pdf         the XML inside a PDF
response    what a receiver says of a document that we have sent, with the reason in words

Nothing is computed, and amounts and dates are as stated. lxml is loaded with the first document, Jinja with the first
page, pypdf with the first PDF.
"""

from filedrop.readable.rendering import PIECE, Renderer, pieces
from filedrop.readable.sheets import Sheet
from filedrop.readable.tree import NotReadable
from filedrop.readable.words import in_language, meaning, notice, reason_in

__all__ = ["PIECE", "NotReadable", "Renderer", "Sheet", "in_language", "meaning", "notice", "pieces", "reason_in"]
