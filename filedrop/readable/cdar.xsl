<?xml version="1.0" encoding="UTF-8"?>
<!-- What a French platform reports of an invoice: Cross Domain Acknowledgement and Response (D22B) as a sheet (see
     common.xsl). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossDomainAcknowledgementAndResponse:100"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100">
  <xsl:include href="common.xsl"/>
  <xsl:include href="cii_parties.xsl"/>
  <xsl:variable name="document" select="/*/rsm:ExchangedDocument"/>
  <xsl:variable name="context" select="/*/rsm:ExchangedDocumentContext"/>
  <xsl:variable name="answered" select="/*/rsm:AcknowledgementDocument/ram:ReferenceReferencedDocument"/>

  <xsl:template match="/*">
    <sheet kind="CrossDomainAcknowledgementAndResponse">
      <number><xsl:copy-of select="$document/ram:ID[1]"/></number>
      <xsl:if test="not($answered/ram:ProcessConditionCode != string($answered[1]/ram:ProcessConditionCode))">
        <headline list="process_condition"><xsl:copy-of select="$answered[1]/ram:ProcessConditionCode"/></headline>
      </xsl:if>
      <notices>
        <xsl:if test="$context/ram:TestIndicator[. = 'true' or . = '1']"><p key="is_test"/></xsl:if>
      </notices>
      <xsl:apply-templates select="$answered"/>
      <facts>
        <fact key="document_name"><xsl:copy-of select="$document/ram:Name"/></fact>
        <fact key="issue_date"><xsl:copy-of select="$document/ram:IssueDateTime/*"/></fact>
        <xsl:for-each select="/*/rsm:AcknowledgementDocument">
          <fact key="effective_date"><xsl:copy-of select="ram:IssueDateTime/*"/></fact>
          <fact key="type"><xsl:copy-of select="ram:TypeCode"/><xsl:copy-of select="ram:Name"/></fact>
          <fact key="several_documents"><xsl:copy-of select="ram:MultipleReferencesIndicator/*"/></fact>
        </xsl:for-each>
      </facts>
      <parties>
        <xsl:apply-templates select="$document/ram:SenderTradeParty | $document/ram:IssuerTradeParty
            | $document/ram:RecipientTradeParty" mode="party"/>
      </parties>
      <section key="format">
        <fact key="specification"><xsl:copy-of select="$context/ram:GuidelineSpecifiedDocumentContextParameter/ram:ID"/></fact>
        <fact key="process"><xsl:copy-of select="$context/ram:BusinessProcessSpecifiedDocumentContextParameter/ram:ID"/></fact>
      </section>
    </sheet>
  </xsl:template>

  <xsl:template match="ram:ReferenceReferencedDocument">
    <section key="response">
      <fact key="response_code" list="process_condition"><xsl:copy-of select="ram:ProcessConditionCode"/></fact>
      <fact key="description"><xsl:copy-of select="ram:ProcessCondition"/></fact>
      <fact key="answers"><xsl:copy-of select="ram:IssuerAssignedID"/><xsl:copy-of select="ram:FormattedIssueDateTime/*"/></fact>
      <fact key="type" list="document_type"><xsl:copy-of select="ram:TypeCode"/></fact>
      <xsl:for-each select="ram:IssuerTradeParty | ram:RecipientTradeParty">
        <fact key="{local-name()}" scheme="yes">
          <xsl:copy-of select="ram:Name"/><xsl:copy-of select="ram:ID | ram:GlobalID | ram:RoleCode"/>
          <xsl:copy-of select="ram:URIUniversalCommunication/ram:URIID"/>
        </fact>
      </xsl:for-each>
      <fact key="received"><xsl:copy-of select="ram:ReceiptDateTime/*"/></fact>
      <fact key="status"><xsl:copy-of select="ram:StatusCode"/><xsl:copy-of select="ram:Status"/></fact>
      <fact key="reference"><xsl:copy-of select="ram:ReferenceTypeCode"/></fact>
      <xsl:for-each select="ram:SpecifiedDocumentStatus">
        <fact key="line"><xsl:copy-of select="ram:SequenceNumeric"/></fact>
        <fact key="reason" list="status_reason"><xsl:copy-of select="ram:ReasonCode"/></fact>
        <fact key="explanation"><xsl:copy-of select="ram:Reason"/></fact>
        <fact key="requested_action" list="status_action"><xsl:copy-of select="ram:RequestedActionCode"/></fact>
        <fact key="requested_action"><xsl:copy-of select="ram:RequestedAction"/></fact>
        <xsl:for-each select="ram:IncludedNote">
          <fact key="explanation">
            <label><xsl:copy-of select="ram:ContentCode | ram:SubjectCode"/></label><xsl:copy-of select="ram:Content"/>
          </fact>
        </xsl:for-each>
      </xsl:for-each>
    </section>
    <table key="lines">
      <column key="document_field"/><column key="kind"/><column key="content" number="yes"/><column key="changed"/>
      <xsl:for-each select="ram:SpecifiedDocumentStatus">
        <xsl:for-each select="ram:SpecifiedDocumentCharacteristic">
          <row>
            <cell><xsl:copy-of select="ram:Name"/><xsl:copy-of select="ram:ID"/><detail><xsl:copy-of select="ram:Location"/></detail></cell>
            <cell><xsl:copy-of select="ram:TypeCode"/></cell>
            <cell currency="yes">
              <xsl:copy-of select="ram:Value | ram:ValueText | ram:ValueAmount | ram:ValuePercent | ram:ValueMeasure | ram:ValueQuantity
                  | ram:ValueCode | ram:ValueID | ram:ValueDateTime/* | ram:ValueIndicator/*"/>
            </cell>
            <cell><xsl:copy-of select="ram:ValueChangedIndicator/*"/></cell>
          </row>
        </xsl:for-each>
      </xsl:for-each>
    </table>
  </xsl:template>
</xsl:stylesheet>
