"""The Peppol code lists as data; filedrop.identify.codelist reads them."""
