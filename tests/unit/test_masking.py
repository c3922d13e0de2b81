from __future__ import annotations

from typing import Any

import pytest

from django_gocron.masking import MASK, find_secrets, is_secret, mask_arguments, mask_text


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "DB_PASSWD",
        "apikey",
        "api_key",
        "access_token",
        "Authorization",
        "aws_secret",
        "private_key",
        "hmac_signature",
    ],
)
def test_tells_a_secret_by_its_name(name: str):
    assert is_secret(name)


@pytest.mark.parametrize("name", ["region", "limit", "pass", "key", "user"])
def test_takes_an_ordinary_name_for_no_secret(name: str):
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"region": "eu", "limit": 5}, {"region": "eu", "limit": 5}),
        ({"password": "hunter2"}, {"password": MASK}),
        ({"token": 12345}, {"token": MASK}),
        ({"password": ""}, {"password": ""}),
        ({"password": None}, {"password": None}),
        ({"shop": {"api_key": "k", "url": "u"}}, {"shop": {"api_key": MASK, "url": "u"}}),
        ({"shops": [{"api_key": "k"}, "plain"]}, {"shops": [{"api_key": MASK}, "plain"]}),
        ({"credentials": {"user": "anna"}}, {"credentials": MASK}),
    ],
)
def test_shows_arguments_without_their_secrets(arguments: dict[str, Any], shown: dict[str, Any]):
    assert mask_arguments(arguments) == shown


def test_leaves_the_arguments_themselves_alone():
    arguments = {"shop": {"password": "hunter2"}}
    mask_arguments(arguments)
    assert arguments == {"shop": {"password": "hunter2"}}


@pytest.mark.parametrize(
    ("arguments", "secrets"),
    [
        ({"region": "europe"}, set()),
        ({"password": "hunter2", "region": "europe"}, {"hunter2"}),
        ({"token": 123456}, {"123456"}),
        ({"token": "abc"}, set()),
        ({"token": "abcd"}, {"abcd"}),
        ({"shop": {"password": "hunter2"}}, {"hunter2"}),
        ({"shops": [{"password": "hunter2"}, {"password": "swordfish"}]}, {"hunter2", "swordfish"}),
        ({"tokens": ["first-one", "second-one"]}, {"first-one", "second-one"}),
        ({"credentials": {"user": "annabel", "pin": 987654}}, {"annabel", "987654"}),
        ({"credentials": {"verify": True, "proxy": None}}, set()),
    ],
)
def test_finds_the_texts_that_must_not_be_left_behind(arguments: dict[str, Any], secrets: set[str]):
    assert find_secrets(arguments) == secrets


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("nothing to hide", "nothing to hide"),
        ("postgres://anna:hunter2@db/shop", f"postgres://anna:{MASK}@db/shop"),
        ("redis://:hunter2@cache:6379/0", f"redis://:{MASK}@cache:6379/0"),
        ("https://shop.example/a:b@c", "https://shop.example/a:b@c"),
        ("password=hunter2", f"password={MASK}"),
        ("password = hunter2 and more", f"password = {MASK} and more"),
        ("login(password='hunter2', user='anna')", f"login(password='{MASK}', user='anna')"),
        ("password='two words' user='anna'", f"password='{MASK}' user='anna'"),
        (r"password='it\'s' user='anna'", f"password='{MASK}' user='anna'"),
        ("{'api_key': 'k-1', 'limit': 5}", f"{{'api_key': '{MASK}', 'limit': 5}}"),
        ('{"access_token": "t-1"}', f'{{"access_token": "{MASK}"}}'),
        ("[secret: s-1]", f"[secret: {MASK}]"),
        ("GET /?token=t-1&page=2", f"GET /?token={MASK}&page=2"),
        ("X-Api-Key: k-1", f"X-Api-Key: {MASK}"),
        ("Authorization: Bearer t-1", f"Authorization: Bearer {MASK}"),
        (
            "{'Authorization': 'Basic YW5uYTpo', 'Accept': '*'}",
            f"{{'Authorization': 'Basic {MASK}', 'Accept': '*'}}",
        ),
        ("authorization=t-1", f"authorization={MASK}"),
        ("PASSWORD=hunter2", f"PASSWORD={MASK}"),
        ("the password is wrong", "the password is wrong"),
    ],
)
def test_masks_what_looks_like_a_secret_in_a_text(text: str, masked: str):
    assert mask_text(text) == masked


def test_masks_known_secrets_wherever_they_stand():
    assert mask_text("login with hunter2 failed: hunter2", {"hunter2"}) == f"login with {MASK} failed: {MASK}"


def test_masks_the_longer_of_two_secrets_first():
    assert mask_text("abcd-efgh", {"abcd", "abcd-efgh"}) == MASK


def test_masks_each_line_of_a_text():
    assert mask_text("password=one\npassword=two") == f"password={MASK}\npassword={MASK}"


def test_an_open_quote_hides_what_stands_in_its_line_at_least_up_to_the_next_blank():
    assert "hunter2" not in mask_text("password='hunter2\nnext line")
