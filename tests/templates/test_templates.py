"""Every template keeps the rules: nothing inline, a token in each form, one shape for names."""

from __future__ import annotations

import re

import pytest
from django.template.loader import get_template

from jobs.domain.words import STATE_WORDS
from tests.templates.files import BOOTSTRAP, ICONS, ROOT, STYLES, TEMPLATES, Elements, name, source

STANDALONE = {"400.html", "403.html", "404.html", "429.html", "500.html", "503.html"}
PICTURES_INSIDE = ("form-select", "form-check-input", "form-switch", "btn-close", "navbar", "accordion", "carousel")
"""Bootstrap draws these with data: addresses, which the content security policy refuses."""

each_template = pytest.mark.parametrize("template", TEMPLATES, ids=name)


@each_template
def test_it_compiles(template):
    get_template(template.name)


@each_template
def test_nothing_is_inline(template):
    elements = Elements(template)
    for tag, attributes in elements.found:
        assert tag != "style"
        assert "style" not in attributes
        assert not [key for key in attributes if key.startswith("on") or key.startswith("hx-on")]
        assert not [value for value in attributes.values() if value.strip().lower().startswith("javascript:")]
        assert tag != "script" or attributes.get("src")
    assert elements.script_text == ""


@each_template
def test_nothing_comes_from_elsewhere(template):
    for _, attributes in Elements(template).found:
        for key in ("src", "href", "action", "formaction"):
            assert not re.match(r"(https?:)?//", attributes.get(key, "")), attributes


@each_template
def test_each_form_that_posts_has_its_token(template):
    forms = re.findall(r"<form\b[^>]*>.*?</form>", source(template), re.DOTALL)
    posting = [form for form in forms if re.search(r'method="post"', form.split("\n")[0], re.IGNORECASE)]
    assert all("{% csrf_token %}" in form for form in posting)
    assert len(forms) == source(template).count("<form")


@each_template
def test_each_form_says_how_it_is_sent(template):
    for tag, attributes in Elements(template).found:
        if tag == "form":
            assert attributes.get("method") in ("get", "post", "dialog")


@each_template
def test_a_link_works_without_script(template):
    for tag, attributes in Elements(template).found:
        if tag == "a" or (tag not in ("form", "div") and "hx-get" in attributes):
            assert attributes.get("href")


@each_template
def test_what_only_script_can_do_is_hidden_until_there_is_script(template):
    for tag, attributes in Elements(template).found:
        if tag == "button" and attributes.get("type") == "button":
            assert "hidden" in attributes or "data-live-pause" in attributes


@each_template
def test_each_button_says_what_kind_it_is(template):
    for tag, attributes in Elements(template).found:
        assert tag != "button" or attributes.get("type") in ("button", "submit") or "dialog" in source(template)


@each_template
def test_its_name_says_what_it_is(template):
    text = source(template)
    if template.name.endswith("_page.html"):
        assert text.startswith('{% extends "base.html" %}')
    elif template.name in STANDALONE:
        assert "{% extends" not in text and "{% include" not in text and "{% url" not in text
    else:
        assert template.name == "base.html" or re.fullmatch(r"_\w+_part\.html", template.name)


def test_every_part_is_used_and_every_part_that_is_used_is_there():
    used = {part for template in TEMPLATES for part in re.findall(r'{% include "([\w.]+)"', source(template))}
    parts = {template.name for template in TEMPLATES if template.name.startswith("_")}
    assert used <= parts
    unused = parts - used
    python = "".join(path.read_text() for folder in ("jobs", "opsboard") for path in (ROOT / folder).rglob("*.py"))
    assert [part for part in unused if part not in python] == []


@each_template
def test_bootstrap_is_not_asked_for_pictures(template):
    for _, attributes in Elements(template).found:
        assert not set(attributes.get("class", "").split()) & set(PICTURES_INSIDE)
        assert "is-invalid" not in attributes.get("class", "")


def test_every_class_is_styled_somewhere():
    styles = "".join(path.read_text() for path in [*STYLES, BOOTSTRAP])
    known = set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", styles))
    asked = {
        word
        for template in TEMPLATES
        for _, attributes in Elements(template).found
        for word in attributes.get("class", "").split()
        if not word.endswith("x")
    }
    assert asked - known == set()


def test_every_icon_that_is_named_is_drawn_and_cut_out():
    drawn = {path.stem for path in ICONS}
    masks = (ROOT / "static" / "css" / "components" / "icons.css").read_text()
    assert set(re.findall(r"\.icon--([\w-]+) {\n  --icon: url\(\"\.\./\.\./img/icons/\1\.svg\"\)", masks)) == drawn
    named = {icon for template in TEMPLATES for icon in re.findall(r"{% icon '([\w-]+)' %}", source(template))}
    assert named | {state.icon for state in STATE_WORDS.values()} <= drawn


@each_template
def test_whoever_reads_it_is_spoken_to_through_gettext(template):
    """No bare words: text between tags is filled in by Django. Names and units stay as they are."""
    translated = r"{% blocktranslate.*?{% endblocktranslate %}|{%.*?%}|{{.*?}}"
    codes = r'<!doctype html>|<span class="rule-code">.*?</span>'
    text = re.sub(f"{translated}|{codes}", "", source(template), flags=re.DOTALL)
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>", " ", text))
    assert set(words) <= {"opsboard", "pid", "RQ", "Enter", "Esc"}
