"""The cases of CUBIC: RFC 9438. One file per case."""

TITLE = "CUBIC (RFC 9438, August 2023)"
