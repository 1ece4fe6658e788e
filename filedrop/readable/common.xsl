<?xml version="1.0" encoding="UTF-8"?>
<!-- What both syntaxes share. A sheet is what a page or a text is made of: facts, parties, tables, totals, texts. What
     the document doesn't say is an empty element here, and is left out when keys and codes become words (sheets.py). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="xml"/>
  <!-- EN 16931, rule BR-CL-01: the types of a credit note (UNTDID 1001). -->
  <xsl:variable name="credit_notes" select="' 81 83 261 262 296 308 381 396 420 458 502 503 532 '"/>

  <xsl:template match="*[normalize-space()]" mode="with-scheme">
    <xsl:if test="normalize-space(@schemeID)"><xsl:value-of select="@schemeID"/>:</xsl:if>
    <xsl:value-of select="normalize-space()"/>
  </xsl:template>

  <!-- xs:boolean has two words for each. -->
  <xsl:template match="*[normalize-space() = '1']" mode="boolean">true</xsl:template>
  <xsl:template match="*[normalize-space() = '0']" mode="boolean">false</xsl:template>
  <xsl:template match="*" mode="boolean"><xsl:value-of select="normalize-space()"/></xsl:template>
</xsl:stylesheet>
