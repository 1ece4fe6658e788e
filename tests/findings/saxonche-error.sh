#!/usr/bin/env bash
# saxonche 13.1.1: an exception has the sentence of an error, but neither its code nor its line; stderr has both.
#
# So a program can't tell an error of the document's content (FORG0001) from one of the stylesheet by the exception.
. "$(dirname "$0")/shared.sh"
python saxonche==13.1.1

transform() {
    cat >rules.xsl <<'END'
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
                xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xsl:template match="/">
    <sum><xsl:value-of select="xs:decimal(/Invoice/Amount) + 1"/></sum>
  </xsl:template>
</xsl:stylesheet>
END
    python3 - 2>stderr <<'END'
import saxonche

processor = saxonche.PySaxonProcessor(license=False)
rules = processor.new_xslt30_processor().compile_stylesheet(stylesheet_file="rules.xsl")
try:
    rules.transform_to_string(xdm_node=processor.parse_xml(xml_text="<Invoice><Amount>12,50</Amount></Invoice>"))
except saxonche.PySaxonApiError as error:
    print("exception:", str(error).strip(), vars(error))
END
    grep -oE 'on line 4|FORG0001' stderr | sed 's/^/stderr: /'
}

expect transform <<'END'
exception: Cannot convert string "12,50" to xs:decimal: invalid character ',' {}
stderr: on line 4
stderr: FORG0001
END
