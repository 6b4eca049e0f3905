"""Stack traces in five languages: their first and last lines, their error, and the innermost frame of the own code."""

from actors.rules.stack_traces import find_traces

from .author import RULES, ask

LIBRARY = RULES.languages.library_paths

PYTHON = """
It broke:

    Traceback (most recent call last):
      File "/app/main.py", line 7, in <module>
        run()
      File "/app/job.py", line 3, in run
        json.loads(text)
      File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
        raise JSONDecodeError("Expecting value", s, err.value) from None
    json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)

It used to work.
"""
JAVA = """
java.lang.IllegalStateException: order is closed
\tat com.acme.Order.add(Order.java:41)
\tat com.acme.Cart.checkOut(Cart.java:88)
Caused by: java.lang.NullPointerException
\tat java.base/java.util.Objects.requireNonNull(Objects.java:208)
\tat com.acme.Price.of(Price.java:12)
\t... 2 more
Please help.
"""
JAVASCRIPT = """
TypeError: Cannot read properties of undefined (reading 'id')
    at process (/srv/node_modules/lib/index.js:10:3)
    at async Cart.total (/srv/src/cart.ts:20:11)
    at /srv/src/server.ts:5:1
done
"""
RUST = """
thread 'main' panicked at src/grid.rs:14:9:
index out of bounds: the len is 3 but the index is 3
stack backtrace:
   0: std::panicking::begin_panic_handler
             at /rustc/abc/library/std/src/panicking.rs:645:5
   1: grid::Grid::cell
             at ./src/grid.rs:14:9
note: run with `RUST_BACKTRACE=full`
"""
RUST_OLD = "thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', src/main.rs:4:37"
GO = """
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x48]

goroutine 1 [running]:
runtime.panicmem(...)
\t/usr/local/go/src/runtime/panic.go:260
main.(*Store).Get(0x0, {0x4a, 0x3})
\t/home/u/store/store.go:31 +0x1d
main.main()
\t/home/u/store/main.go:9 +0x2f
exit status 2
"""


def only(text):
    """Return the only trace in a text."""
    (trace,) = find_traces(text.splitlines())
    return trace


def test_python_trace_ends_with_its_error():
    trace = only(PYTHON)
    assert trace.language == "python"
    assert trace.error == "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    assert [frame.function for frame in trace.frames] == ["raw_decode", "run", "<module>"]
    assert trace.own_frame(LIBRARY).file == "/app/job.py"
    assert trace.text.startswith("Traceback")
    assert trace.text.endswith("(char 0)")


def test_chained_python_traces_are_two():
    text = PYTHON.rstrip().rsplit("\n\n", 1)[0]
    chained = f"{text}\n\n    During handling of the above exception, another exception occurred:\n{text}"
    assert len(find_traces(chained.splitlines())) == 2


def test_java_cause_is_the_innermost():
    trace = only(JAVA)
    assert trace.language == "java"
    assert trace.error == "Caused by: java.lang.NullPointerException"
    own = trace.own_frame(LIBRARY)
    assert (own.file, own.line, own.function) == ("Price.java", 12, "com.acme.Price.of")
    assert "Please help" not in trace.text


def test_javascript_frames_of_libraries_are_skipped():
    trace = only(JAVASCRIPT)
    assert trace.language == "javascript"
    assert trace.error.startswith("TypeError: Cannot read")
    own = trace.own_frame(LIBRARY)
    assert (own.file, own.line, own.function) == ("/srv/src/cart.ts", 20, "Cart.total")


def test_rust_panic_in_the_newer_and_the_older_form():
    trace, old = only(RUST), only(RUST_OLD)
    assert (trace.language, trace.error) == ("rust", "index out of bounds: the len is 3 but the index is 3")
    assert trace.own_frame(LIBRARY).file == "src/grid.rs"
    assert (old.frames[0].file, old.frames[0].line) == ("src/main.rs", 4)


def test_go_panic_names_function_and_line():
    trace = only(GO)
    assert (trace.language, trace.error.split(":")[0]) == ("go", "panic")
    own = trace.own_frame(LIBRARY)
    assert (own.file, own.line, own.function) == ("/home/u/store/store.go", 31, "main.(*Store).Get")


def test_traces_of_all_languages_in_one_text_are_separated():
    text = f"{PYTHON}\n{JAVA}\n{JAVASCRIPT}\n{RUST}\n{GO}"
    assert [trace.language for trace in find_traces(text.splitlines())] == [
        "python",
        "java",
        "javascript",
        "rust",
        "go",
    ]


def test_a_quoted_trace_is_found():
    quoted = "\n".join(f"> {line}" for line in PYTHON.splitlines())
    assert only(quoted).own_frame(LIBRARY).function == "run"


def test_prose_is_not_a_trace():
    text = "We met at noon (in Rome:12).\nError: yes\nat least it worked\nCaused by: rain\npanic: no\n"
    assert find_traces(text.splitlines()) == []


def test_every_trace_leads_to_a_step():
    """The plan has one step for each trace, which names file, line and function."""
    plan = ask("plan", f"Two crashes.\n{GO}\n{PYTHON}")
    names = [step["name"] for step in plan["steps"] if step["step_id"].startswith("locate")]
    assert names[:2] == ["Examine /home/u/store/store.go:31 in main.(*Store).Get", "Examine /app/job.py:3 in run"]
