"""The cases of BBR, version 3: appendix A of its draft. One file per case."""

TITLE = "BBR version 3 (draft-ietf-ccwg-bbr-06, July 2026), appendix A"
