"""Raised digits, such as marks of footnotes, and letters that PDF files put together: what they become in a text. Pure.

A raised digit after a number would else become its last digit.
"""

RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
"""Digits as raised digits, for `str.translate`."""
LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
"""Ligatures as the letters that they are made of."""
