"""The verifier of attestations: one program that needs the standard library and `cryptography`, nothing of ours."""
