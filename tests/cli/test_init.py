"""`replan init`: a first problem, settings, and tools that the files of a project name; what is there is kept."""

import json

import pytest
import yaml

from replan.cli.commands.setup import find_programs
from runtime.core.extras import install_command

PROJECTS = [
    ({"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n"}, {"tests": "pytest -q", "lint": "ruff check"}),
    ({"tests/test_a.py": "", "ruff.toml": ""}, {"tests": "pytest -q", "lint": "ruff check"}),
    ({"package.json": '{"scripts": {"test": "x", "lint": "y"}}'}, {"tests": "npm test", "lint": "npm run lint"}),
    ({"Cargo.toml": ""}, {"tests": "cargo test", "lint": "cargo clippy"}),
    ({"go.mod": ""}, {"tests": "go test ./...", "lint": "go vet ./..."}),
    ({"Makefile": "lint:\n\tx\ntest: a\n\ty\n"}, {"tests": "make test", "lint": "make lint"}),
    ({"go.mod": "", "Makefile": "test:\n"}, {"tests": "go test ./...", "lint": "go vet ./..."}),
    ({"package.json": "[" * 5000}, {}),
    ({"package.json": '{"scripts": []}', "Makefile": "tests:\n"}, {}),
]


def project(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(("files", "programs"), PROJECTS)
def test_the_tools_of_a_project_are_found_by_its_files(tmp_path, files, programs):
    found = find_programs(project(tmp_path, files))
    assert {each.role: " ".join(each.words) for each in found} == programs


@pytest.mark.parametrize("files", [{"pyproject.toml": "[tool.pytest]\n"}, {}])
def test_its_files_are_read_by_the_commands_that_they_are_for(replan, home, tmp_path, files):
    folder = project(tmp_path / "shop", files or {"README": ""})
    result = replan("init", folder, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert (len(told["written"]), told["kept"], len(told["programs"])) == (3, [], len(files))
    assert yaml.safe_load((home / "config.yaml").read_text()) == {"prices": {}}
    checks = json.loads(replan("doctor", "--json").stdout)["checks"]
    assert {check["name"]: check["ok"] for check in checks if check["name"] in ("config", "tools")} == {
        "config": True,
        "tools": True,
    }
    (folder / "problem.md").write_text("Searching takes 5 s; it should take half a second.")
    planned = replan("do", folder / "problem.md", "--workspace", folder, "-m", "template:bug", "--dry-run", "--json")
    assert planned.exit_code == 0, planned.stderr
    assert json.loads(planned.stdout)


def test_what_is_there_is_kept(replan, home, tmp_path):
    (tmp_path / "problem.md").write_text("mine")
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("model: template:bug\n")
    result = replan("init", tmp_path)
    assert f"kept {tmp_path / 'problem.md'}" in result.stderr
    assert f"wrote {home / 'tools.yaml'}" in result.stderr
    assert (tmp_path / "problem.md").read_text() == "mine"
    assert (home / "config.yaml").read_text() == "model: template:bug\n"


def test_the_form_itself_is_no_problem(replan, tmp_path):
    assert f"`replan do {tmp_path / 'problem.md'}` also executes the plan" in replan("init", tmp_path).stderr
    form = tmp_path / "problem.md"
    refused = replan("run", form, "-m", "template:bug")
    told = f"replan: {form}: this is still the file that `replan init` wrote (replace its text with your problem)\n"
    assert (refused.exit_code, refused.stderr) == (2, told)


def test_a_folder_that_is_not_there_is_one_line(replan, home):
    result = replan("init", "nowhere")
    assert result.exit_code == 2
    assert result.stderr == "replan: nowhere: there is no such folder (name the folder of a project)\n"
    assert not home.exists()


@pytest.mark.parametrize(
    ("direct", "command"),
    [
        (None, "pip install 'replan[pytest]'"),
        ("{}", "pip install 'replan[pytest]'"),
        ("no json", "pip install 'replan[pytest]'"),
        ('{"url": "file:///srv/my%20shop/replan", "dir_info": {}}', "pip install '/srv/my shop/replan[pytest]'"),
        ('{"url": "https://x.example/r.whl"}', "pip install 'replan[pytest] @ https://x.example/r.whl'"),
    ],
)
def test_an_extra_is_added_from_where_the_program_came(monkeypatch, direct, command):

    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return direct

    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed())
    assert install_command("pytest") == command
