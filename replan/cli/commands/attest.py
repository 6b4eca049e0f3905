"""`attest`: writes what a run did into one signed file, and verifies such a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.cli.run_options import require_one_run, run_argument
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.reader import RunReader

_ATTEST = examples(
    "replan attest --new-key",
    "replan attest k7m2x9qa -o k7m2x9qa.json",
    "replan attest --verify k7m2x9qa.json --public-key 5f0c…",
)


@click.command(epilog=_ATTEST, short_help="Write what a run did into one signed file.")
@run_argument()
@click.option("-o", "--output", metavar="FILE", help="Where to write it; default: RUN.attestation.json.")
@click.option("--key", metavar="FILE", help="The private key that signs; default: that of the home.")
@click.option("--new-key", is_flag=True, help="Make the key, and print its public key.")
@click.option("--verify", "verified", metavar="FILE", help="Verify a file; exit 9 for a finding.")
@click.option("--public-key", metavar="HEX", help="With --verify: the signer's public key.")
@json_option
@common
@click.pass_obj
def attest(
    invocation: Invocation,
    run_id: str | None,
    *,
    last: bool,
    output: str | None,
    key: str | None,
    new_key: bool,
    verified: str | None,
    public_key: str | None,
    as_json: bool,
) -> int:
    """Write the records of a finished RUN, with all that they name, into one file, signed with Ed25519.

    Anybody can verify it without this program: with replan/verifier/verify_attestation.py and the public key. It
    derives the budget and the decisions again, and says what is proved and what is only claimed.
    """
    from replan.setup.attest_key import NAME, check_extra, read_key
    from replan.setup.home_folder import locate_home, prepare_home

    check_extra()
    if verified is not None:
        if run_id is not None or last or new_key:
            raise UsageProblem("--verify takes no run", place="--verify", hint="--verify FILE --public-key HEX")
        return _verify(verified, public_key, as_json=as_json)
    path = Path(key) if key is not None else locate_home().folder / NAME
    if new_key:
        if run_id is not None or last:
            raise UsageProblem("--new-key takes no run", place="--new-key", hint="make the key first, then attest")
        if key is None:
            prepare_home()
        return _new_key(path, as_json=as_json)
    require_one_run("attest", run_id, last=last)
    signer = read_key(path)
    run, members = _members(invocation, run_id)
    from replan.runs.attestation import signed
    from replan.runs.attested_runs import read_attestation

    public = signer.public_key().public_bytes_raw().hex()
    content = signed(read_attestation(members), signer)
    target = output if output is not None else f"{run}.attestation.json"
    try:
        Path(target).write_bytes(content)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "not a file's name").lower()
        raise UsageProblem(cause, place=target, hint="name a file that you may write") from None
    from replan.cli.terminal.console import notice, print_json

    if as_json:
        print_json({"run_id": run, "file": target, "bytes": len(content), "public_key": public})
    else:
        notice(f"what run {run} did is in {target}, signed by the key {public}")
    return Exit.OK


def _new_key(path: Path, *, as_json: bool) -> int:
    from replan.cli.terminal.console import notice, print_json
    from replan.cli.terminal.plain import print_text
    from replan.setup.attest_key import make_key

    public = make_key(path)
    if as_json:
        print_json({"file": str(path), "public_key": public})
    else:
        print_text(f"{public}\n")
        notice(f"the private key is in {path}; give its public key, printed above, to those who verify")
    return Exit.OK


def _verify(file: str, public_key: str | None, *, as_json: bool) -> int:
    from replan.cli.terminal.console import print_json
    from replan.cli.terminal.plain import print_text
    from replan.verifier.verify_attestation import lines, verify

    try:
        data = Path(file).read_bytes()
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "not a file's name").lower()
        hint = f"name a file that `{program()} attest` has written"
        raise UsageProblem(cause, place=file, hint=hint) from None
    report = verify(data, public_key)
    if as_json:
        found = {"wrong": report.wrong, "proved": report.proved, "claimed": report.claimed}
        print_json({"ok": not report.wrong, **found})
    else:
        print_text("".join(f"{each}\n" for each in lines(report)))
    return Exit.JOURNAL if report.wrong else Exit.OK


def _members(invocation: Invocation, name: str | None) -> tuple[str, list[str]]:
    """Return a run, and it with the runs of its steps."""
    from replan.cli.reading import reading

    async def work(reader: RunReader) -> tuple[str, list[str]]:
        from replan.cli.reading import named_or_newest
        from replan.runs.attested_runs import attested_runs

        run = await named_or_newest(reader, name)
        return run, await attested_runs(reader, run)

    return reading(invocation, work)
