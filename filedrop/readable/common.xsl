<?xml version="1.0" encoding="UTF-8"?>
<!-- What all syntaxes share. A sheet is what a page or a text is made of: facts, parties, tables, totals, texts.

     A place of the sheet (number, headline, fact, line, cell, detail, p, attachment) holds copies of the document's own
     elements, and words of ours between them. How a value is written follows from its element (sheets.py). A place that
     stays empty is left out. What no place holds is listed under "Other details", so that nothing is lost.

     label: words of the document in place of a label of ours. shown: elements that the label states already. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="xml"/>
  <!-- EN 16931, rule BR-CL-01: the types of a credit note (UNTDID 1001). -->
  <xsl:variable name="credit_notes" select="' 81 83 261 262 296 308 381 396 420 458 502 503 532 '"/>
</xsl:stylesheet>
