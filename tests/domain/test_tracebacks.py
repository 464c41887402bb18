"""Reading the text of a traceback, and the one line of it that a list shows."""

from __future__ import annotations

import textwrap
import time
import traceback

import pytest

from jobs.domain.redaction import safe_text
from jobs.domain.tracebacks import error_line, has_user_frames, parse_traceback, without_messages

SITE = "/app/.venv/lib/python3.11/site-packages"
HEADER = "Traceback (most recent call last):\n"
SIMPLE = (
    HEADER + f'  File "{SITE}/rq/job.py", line 1300, in _execute\n    result = self.func(*self.args)\n'
    '  File "/app/shop/tasks.py", line 12, in charge\n    raise ValueError("boom 7")\n    ^^^^^^^^^^^^^^^^^\n'
    "ValueError: boom 7\n"
)
RQ_SENTENCES = [
    "Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); ",
    "Work-horse terminated unexpectedly; waitpid returned None; ",
    "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-11-29 14:18:00.123456+00:00",
    "Job stopped by user, work-horse terminated.",
    "Job was stuck in intermediate queue.",
]


def raised(function):
    try:
        function()
    except BaseException:
        return traceback.format_exc()
    raise AssertionError("it did not raise")


def last(text):
    return parse_traceback(text).exceptions[-1]


def test_a_traceback_gives_kind_message_and_frames():
    one = last(SIMPLE)
    assert (one.kind, one.message, one.relation) == ("ValueError", "boom 7", "")
    assert [(frame.line, frame.function, frame.is_library, frame.is_raising) for frame in one.frames] == [
        (1300, "_execute", True, False),
        (12, "charge", False, True),
    ]


def test_carets_are_not_code():
    assert last(SIMPLE).frames[-1].code == 'raise ValueError("boom 7")'


def test_a_dotted_kind_is_kept_and_an_exception_without_text_has_no_message():
    assert last(HEADER + '  File "a.py", line 1, in f\nshop.errors.Declined\n').kind == "shop.errors.Declined"
    assert last(HEADER + '  File "a.py", line 1, in f\nshop.errors.Declined\n').message == ""


def test_a_message_of_several_lines_is_kept_whole():
    def fail():
        raise ValueError("first\n\nthird\n    indented")

    assert last(raised(fail)).message == "first\n\nthird\n    indented"


def test_a_message_that_looks_like_frames_stays_a_message():
    def fail():
        raise ValueError('first\n  File "/etc/passwd", line 1, in evil\n    evil()\nKeyError: fake')

    one = last(raised(fail))
    assert one.kind == "ValueError"
    assert [frame.function for frame in one.frames] == ["raised", "fail"]
    assert one.message.endswith("KeyError: fake")


@pytest.mark.parametrize(("cause", "relation"), [("error", "cause"), ("None", "")])
def test_a_raise_from_tells_the_relation(cause, relation):
    code = f"try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from {cause}"
    one = last(raised(lambda: exec(code)))
    assert (one.kind, one.message, one.relation) == ("KeyError", "'x'", relation)


def test_an_exception_while_handling_another_has_that_as_context():
    def fail():
        try:
            raise ValueError("old")
        except ValueError:
            raise KeyError("new")  # noqa: B904

    assert [(one.kind, one.relation) for one in parse_traceback(raised(fail)).exceptions] == [
        ("ValueError", ""),
        ("KeyError", "context"),
    ]


def test_an_exception_group_loses_nothing():
    def fail():
        raise ExceptionGroup("many", [ValueError("alpha"), ExceptionGroup("inner", [TypeError("beta")])])

    one = last(raised(fail))
    assert (one.kind, one.frames[-1].function) == ("ExceptionGroup", "fail")
    assert all(word in one.message for word in ("many (2 sub-exceptions)", "ValueError: alpha", "TypeError: beta"))


def test_a_syntax_error_shows_its_place():
    one = last(raised(lambda: compile("a b", "given.py", "exec")))
    assert (one.kind, one.frames[-1].file, one.frames[-1].line, one.frames[-1].function) == (
        "SyntaxError",
        "given.py",
        1,
        "",
    )
    assert one.frames[-1].code == "a b"


def test_a_recursion_says_how_often_the_line_was_repeated():
    def fail(depth=50):
        return fail(depth - 1) if depth else 1 / 0

    assert any(frame.repeated > 40 for frame in last(raised(fail)).frames)


@pytest.mark.parametrize("text", RQ_SENTENCES)
def test_what_rq_itself_says_is_a_message_without_a_kind(text):
    one = last(text)
    assert (one.kind, one.message, one.frames) == ("", text.strip("\n"), ())
    assert not has_user_frames(text)


@pytest.mark.parametrize("text", ["", "\n", "nonsense", "Traceback", HEADER, HEADER.strip(), 'File "x', "  File", "\0"])
def test_any_text_gives_at_least_one_exception(text):
    assert len(parse_traceback(text).exceptions) == 1


def test_text_before_the_header_is_not_lost():
    assert [one.message for one in parse_traceback("Job 7 said:\n" + SIMPLE).exceptions] == ["Job 7 said:", "boom 7"]


def test_of_5000_frames_the_first_and_last_are_kept_and_the_rest_counted():
    frames = "".join(f'  File "/app/a.py", line {n}, in f{n}\n    code\n' for n in range(5000))
    kept = last(HEADER + frames + "RecursionError: too deep\n").frames
    assert (kept[0].function, kept[-1].function, len(kept)) == ("f0", "f4999", 100)
    assert [frame.gap_before for frame in kept if frame.gap_before] == ["4,900 frames left out"]


def test_user_frames_among_those_left_out_are_noticed():
    library = f'  File "{SITE}/rq/job.py", line 7, in f\n' * 200
    assert has_user_frames(HEADER + library + '  File "/app/a.py", line 7, in g\n' + library + "ValueError: x\n")
    assert not has_user_frames(HEADER + library + "ValueError: x\n")


def test_frames_go_on_behind_a_cut():
    frames = "".join(f'  File "/app/a.py", line {n}, in f{n}\n    some code here\n' for n in range(20_000))
    one = last(safe_text(HEADER + frames + "RecursionError: too deep\n", keep=3000).text)
    assert (one.kind, one.message, one.frames[-1].function) == ("RecursionError", "too deep", "f19999")
    assert any("characters left out" in frame.gap_before for frame in one.frames)


def test_a_line_right_behind_a_cut_is_not_taken_for_the_kind():
    text = HEADER + '  File "/app/a.py", line 1, in f\n[… 12 characters left out …]\nCANARY: of a message\n  indented'
    assert (last(text).kind, last(text).is_cut, last(text).frames[-1].code) == ("", True, "")
    assert "CANARY" not in error_line(text)


def test_a_very_long_chain_is_cut_in_the_middle():
    link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    exceptions = parse_traceback(link.join(f"{HEADER}KeyError: {n}\n" for n in range(1000))).exceptions
    assert (exceptions[0].message, exceptions[-1].message, len(exceptions)) == ("0", "999", 25)
    assert [one.left_out_before for one in exceptions if one.left_out_before] == [975]


@pytest.mark.parametrize(
    ("path", "is_library"),
    [
        ("/app/.venv/lib/python3.11/site-packages/rq/job.py", True),
        ("/usr/lib/python3/dist-packages/rq/job.py", True),
        ("/usr/lib/python3.13/json/decoder.py", True),
        ("/usr/local/lib/python3.14t/json/decoder.py", True),
        ("<frozen importlib._bootstrap>", True),
        (r"C:\Python311\Lib\json\decoder.py", True),
        ("/app/lib/pythonic/tasks.py", False),
        ("/app/shop/tasks.py", False),
        ("<string>", False),
        ("[hidden]/tasks.py", False),
    ],
)
def test_installed_packages_and_python_itself_are_libraries(path, is_library):
    text = f'{HEADER}  File "{path}", line 1, in f\nValueError: x\n'
    assert last(text).frames[0].is_library is is_library
    assert has_user_frames(text) is not is_library


def test_a_frame_whose_line_number_was_masked_is_still_a_frame():
    frame = last(HEADER + '  File "/app/a.py", line [hidden], in f\nValueError: x\n').frames[0]
    assert (frame.file, frame.line, frame.function) == ("/app/a.py", None, "f")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SIMPLE, "ValueError: boom 7"),
        (HEADER + '  File "a.py", line 1, in f\nKeyError\n', "KeyError"),
        (HEADER + '  File "a.py", line 1, in f\nValueError: one\ntwo\n', "ValueError: one"),
        (HEADER + '  File "a.py", line 1, in f\nValueError: \n\ntwo\n', "ValueError: two"),
        (RQ_SENTENCES[0], "Work-horse terminated unexpectedly; waitpid returned 9 (signal 9);"),
        ("", ""),
    ],
)
def test_a_list_shows_kind_and_first_line(text, line):
    assert error_line(text) == line


def test_the_line_for_a_list_is_masked_before_it_is_shortened():
    text = HEADER + "ValueError: " + "x" * 185 + " canary-value-canary\n"
    line = error_line(text, limit=200, hidden=("canary-value-canary",))
    assert (len(line), "cana" in line) == (200, False)


def test_a_hidden_value_over_two_lines_is_masked_in_the_line_for_a_list():
    assert error_line(HEADER + "ValueError: ab12\ncd34\n", hidden=("ab12\ncd34",)) == "ValueError: [hidden]"


def test_without_messages_keeps_types_and_frames_only():
    def fail():
        try:
            raise ValueError("CANARY1\n  CANARY2")
        except ValueError as error:
            raise KeyError("CANARY3") from error

    shown = without_messages(raised(fail))
    assert "CANARY" not in shown.replace('"CANARY1\\n  CANARY2"', "").replace('"CANARY3"', "")
    assert [(one.kind, one.relation) for one in parse_traceback(shown).exceptions] == [
        ("ValueError", ""),
        ("KeyError", "cause"),
    ]


@pytest.mark.parametrize("text", [*RQ_SENTENCES, "Task exceeded maximum timeout value (180 seconds)"])
def test_without_messages_keeps_what_rq_says(text):
    assert without_messages(text).strip() == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "CANARY",
        "CANARY\n" + SIMPLE,
        RQ_SENTENCES[3] + " CANARY",
        HEADER + '  File "/app/a.py", line 1, in f\n[… 1 characters left out …]\n  CANARY\nCANARY: x',
        HEADER + "CANARY with blanks\n",
    ],
)
def test_without_messages_shows_no_other_text(text):
    assert "CANARY" not in without_messages(text)


def test_a_printed_traceback_reads_the_same_again():
    text = without_messages(SIMPLE)
    assert parse_traceback(text).exceptions[0].frames == last(SIMPLE).frames


@pytest.mark.parametrize(
    "piece", ["\n", '  File "a.py", line 3, in f\n    code\n', "    ^\n", "  |", HEADER, "VE: x\n"]
)
def test_the_work_grows_with_the_length_only(piece):
    text = HEADER + piece * (300_000 // len(piece))
    started = time.process_time()
    error_line(text)
    assert time.process_time() - started < 1.5  # some 0.1 s; the square of the length would take minutes


def test_indented_text_is_not_a_traceback():
    assert last(textwrap.indent(SIMPLE, "> ")).kind == ""
