"""The Peppol code lists as data, and the script that makes them; filedrop.identify.codelist reads them."""
