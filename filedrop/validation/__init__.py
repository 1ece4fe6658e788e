"""Whether a document keeps the rules, as far as somebody can tell (contract 8, `outbound.validate`).

A validator has findings, or no verdict, where it is missing, crashed or took too long; that says nothing of a document.

validator   the two kinds of validators: rules, and a program; both judge within a time limit
process     the process that judges by rules: started when needed, ended when idle, killed when it is late
child       that process: compiles the rules once, and applies them
places      where in a document a finding is, for people
"""

from filedrop.validation.validator import Kind, Validator, Verdict, validator_of

__all__ = ["Kind", "Validator", "Verdict", "validator_of"]
