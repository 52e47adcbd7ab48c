"""Names and labels that want to be markup."""

HOSTILE = (
    "<img src=x onerror=window.hacked=1>",
    '"><svg onload=window.hacked=2>',
    "</title></svg><script>window.hacked=3</script>",
    "' onmouseover='window.hacked=4",
    "&lt;script&gt;window.hacked=5&lt;/script&gt;",
    "]]><![CDATA[<script>window.hacked=6</script>",
    "{{ 7 * 7 }}{% raw %}<!--",
    "a\x0bb\x01c\u202ed",
)
"""Column names; labels are the same."""
