<?xml version="1.0" encoding="UTF-8"?>
<!-- What a UBL response says of the documents that it answers. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">

  <!-- A Message Level Status is an access point's answer: the same codes mean something else there. -->
  <xsl:variable name="responses">
    <xsl:choose>
      <xsl:when test="contains(/*/cbc:CustomizationID, ':mls:')">response_mls</xsl:when>
      <xsl:otherwise>response</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>

  <!-- The answer, where it is the same for all documents that are answered. -->
  <xsl:template name="headline">
    <xsl:variable name="codes" select="cac:DocumentResponse/cac:Response/cbc:ResponseCode | cbc:OrderResponseCode"/>
    <xsl:if test="not($codes != string($codes[1]))">
      <headline list="{$responses}"><xsl:copy-of select="$codes[1]"/></headline>
    </xsl:if>
  </xsl:template>

  <xsl:template match="cac:DocumentResponse">
    <section key="response">
      <fact key="response_code" list="{$responses}"><xsl:copy-of select="cac:Response/cbc:ResponseCode"/></fact>
      <xsl:for-each select="cac:DocumentReference">
        <fact key="answers"><xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:IssueDate"/></fact>
        <fact key="type" list="document_type"><xsl:copy-of select="cbc:DocumentTypeCode"/></fact>
        <fact key="type"><xsl:copy-of select="cbc:DocumentType"/></fact>
        <fact key="version"><xsl:copy-of select="cbc:VersionID"/></fact>
        <fact key="uuid"><xsl:copy-of select="cbc:UUID"/></fact>
      </xsl:for-each>
      <fact key="reference"><xsl:copy-of select="cac:Response/cbc:ReferenceID"/></fact>
      <fact key="effective_date"><xsl:copy-of select="cac:Response/cbc:EffectiveDate"/><xsl:copy-of select="cac:Response/cbc:EffectiveTime"/></fact>
      <xsl:for-each select="cac:Response/cbc:Description">
        <fact key="description"><xsl:copy-of select="."/></fact>
      </xsl:for-each>
      <xsl:for-each select="cac:Response/cac:Status">
        <xsl:for-each select="cbc:StatusReasonCode">
          <xsl:choose>
            <xsl:when test="@listID = 'OPStatusAction'">
              <fact key="requested_action" list="status_action"><xsl:copy-of select="."/></fact>
            </xsl:when>
            <xsl:otherwise><fact key="reason" list="status_reason"><xsl:copy-of select="."/></fact></xsl:otherwise>
          </xsl:choose>
        </xsl:for-each>
        <xsl:for-each select="cbc:StatusReason"><fact key="explanation"><xsl:copy-of select="."/></fact></xsl:for-each>
        <xsl:for-each select="cac:Condition">
          <fact key="explanation"><xsl:apply-templates select="." mode="condition"/></fact>
        </xsl:for-each>
      </xsl:for-each>
    </section>
    <table key="lines">
      <column key="line"/><column key="response_code"/><column key="reason"/><column key="explanation"/>
      <xsl:for-each select="cac:LineResponse">
        <!-- It is copied to each row, and so copied short. -->
        <xsl:variable name="line" select="substring(cac:LineReference/cbc:LineID, 1, 100)"/>
        <xsl:for-each select="cac:Response">
          <row>
            <cell><xsl:value-of select="$line"/>
              <xsl:if test="position() = 1"><shown><xsl:copy-of select="../cac:LineReference/cbc:LineID"/></shown></xsl:if>
            </cell>
            <cell list="{$responses}"><xsl:copy-of select="cbc:ResponseCode"/></cell>
            <cell list="status_reason"><xsl:copy-of select="cac:Status/cbc:StatusReasonCode"/></cell>
            <cell>
              <xsl:for-each select="cbc:Description | cac:Status/cbc:StatusReason">
                <detail><xsl:copy-of select="."/></detail>
              </xsl:for-each>
              <xsl:for-each select="cac:Status/cac:Condition">
                <detail><xsl:apply-templates select="." mode="condition"/></detail>
              </xsl:for-each>
            </cell>
          </row>
        </xsl:for-each>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="cac:Condition" mode="condition">
    <label><xsl:copy-of select="cbc:AttributeID"/></label><xsl:copy-of select="cbc:Description"/>
  </xsl:template>
</xsl:stylesheet>
