"""A dialogue as an object: read once, shown on a terminal, as JSON and as a page of HTML.

`parts` and `given` say what it is made of, `reading` and `turns` fill it from the `rows` of a published build,
`marking` cuts a text where its spans begin and end, `terminal` and `page` draw it. Nothing here knows a corpus: a part
that a corpus does not have is empty.
"""
