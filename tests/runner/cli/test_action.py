"""The GitHub Action and the workflows to copy: their shell steps as GitHub runs them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.results import storage
from portbench.workloads import workload
from tests import patience
from tests.results.rows import row, run_of
from tests.runner.cli.test_compare import QUICK, W5500_WRITE, WAITS
from tests.slowed import slowed

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it comes with labgrid")

ROOT = Path(__file__).parents[3]
needs_command = pytest.mark.skipif(
    shutil.which("portbench") is None and not (Path(sys.executable).parent / "portbench").exists(),
    reason="portbench is not installed as a command; run: make build",
)


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def filled(text: str, context: dict[str, str]) -> str:
    """Fill in the inputs and GitHub's own context, as GitHub does."""
    given = {f"inputs.{name}": about.get("default", "") for name, about in action()["inputs"].items()} | context
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: given[found[1]], text)


def run_step(
    name: str, context: dict[str, str], folder: Path, environment: dict[str, str], job: dict[str, Any] | None = None
) -> tuple[int, str]:
    """Its status and the job's summary; `job`: of a workflow. The step's outputs are added to `context`."""
    (step,) = (each for each in (job or action()["runs"])["steps"] if each.get("name") == name)
    assert step["shell"] == "bash"
    summary, outputs = folder / "summary.md", folder / "outputs"
    known = {"runner.temp": str(folder)} | context
    given = {variable: filled(value, known) for variable, value in step.get("env", {}).items()}
    path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), environment["PATH"]])
    outputs.write_text("")
    done = patience.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        120,
        cwd=folder,
        env=environment | given | {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(outputs), "PATH": path},
    )
    (folder / "log").write_text(done.stdout)
    for line in outputs.read_text().splitlines():
        output, _, value = line.partition("=")
        context[f"steps.{step['id']}.outputs.{output}"] = value
    return done.returncode, summary.read_text(encoding="utf-8") if summary.exists() else done.stderr


def program(folder: Path, name: str, script: str) -> None:
    """A program that steps find before any other of that name."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


@pytest.mark.engine
@pytest.mark.slow
@needs_command
def test_a_slower_image_fails_the_job_and_is_in_its_summary(tmp_path: Path, environment: dict[str, str]) -> None:
    good = tmp_path / "main" / "firmware.uf2"
    good.parent.mkdir()
    shutil.copy(workload("ping_pong").folder / "native.uf2", good)
    slowed(good, tmp_path / "pr" / "firmware.uf2", W5500_WRITE, WAITS)
    options = action()["inputs"]["options"]["default"] + " --messages=50"
    context = {"inputs.firmware": "pr/firmware.uf2", "inputs.baseline": "main/firmware.uf2", "inputs.options": options}
    status, summary = run_step("Compare", context, tmp_path, environment)
    assert status == 1, summary
    head, empty, *table = summary.splitlines()[:5]
    assert head == "### portbench: `pr/firmware.uf2` beside `main/firmware.uf2`" and empty == ""
    assert len({line.count("|") for line in table}) == 1 and "SLOWER than 2% allows" in table[-1]
    assert "\nWhy, pr-firmware" in summary and "#### Trend" not in summary
    outputs = {name: context[f"steps.compare.outputs.{name}"] for name in action()["outputs"]}
    assert outputs["too-slow"] == "true" and 0.02 < float(outputs["slower"]) < 0.09
    assert Path(outputs["markdown"]).read_text() == summary
    assert json.loads(Path(outputs["json"]).read_text())[0]["judged"] == float(outputs["slower"])
    (tmp_path / "summary.md").unlink()
    status, summary = run_step("Compare", context | {"inputs.fail-if-slower": "9%"}, tmp_path, environment)
    assert status == 0 and "| within 9 %" in summary and "SLOWER" not in summary
    assert re.search(r"#### Trend\n\nHistory of main-firmware .* over time:\n\n\| time", summary)


@needs_command
def test_an_image_that_is_not_there_fails_the_job(tmp_path: Path, environment: dict[str, str]) -> None:
    context = {"inputs.firmware": "nothing.uf2", "inputs.baseline": "nothing.uf2", "inputs.options": " ".join(QUICK)}
    assert run_step("Compare", context, tmp_path, environment)[0] == 1
    assert "steps.compare.outputs.json" not in context


def test_options_may_be_on_several_lines_and_libraries_have_one_image(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    program(tmp_path, "portbench", 'printf "%s\\n" "$@" > calls')
    options = "--workload interpreter\n  --profile tuned\n\n"
    context = {"inputs.firmware": "a.uf2", "inputs.options": options}
    context |= {"inputs.baseline-library": "a=main dir", "inputs.library": "a=pr"}
    assert run_step("Compare", context, tmp_path, environment)[0] == 0
    said = (tmp_path / "calls").read_text().splitlines()
    assert said[:6] == ["compare", "a.uf2", "--library", "a=main dir", "--library", "a=pr"]
    assert said[-4:] == ["--workload", "interpreter", "--profile", "tuned"]


def test_too_few_runs_to_tell_fail_the_job_in_its_own_words(tmp_path: Path, environment: dict[str, str]) -> None:
    program(tmp_path, "portbench", f'exec {sys.executable} -P -m portbench "$@"')
    for name, start in (("main", 100), ("pr", 101)):
        rows = (row(start + 2 * number, number, where="silicon") for number in range(3))
        (tmp_path / f"{name}.json").write_text(storage.to_json(run_of(*rows)))
    context = {"inputs.firmware": "pr.json", "inputs.baseline": "main.json", "inputs.options": "--runs 4"}
    status, summary = run_step("Compare", context, tmp_path, environment)
    assert status == 3 and "too few runs to tell: 4 of each at least" in summary
    assert context["steps.compare.outputs.too-slow"] == "false"
    said = (tmp_path / "log").read_text()
    assert "::error title=portbench::no verdict: the runs are too few to tell whether the image is slower\n" in said


@pytest.mark.parametrize(
    ("there", "call"), [("", "api --silent COMMENTS"), ("17", "api --silent --method PATCH ONE/17")]
)
def test_a_pull_request_has_one_comment(there: str, call: str, tmp_path: Path, environment: dict[str, str]) -> None:
    program(tmp_path, "gh", f'echo "$MARK $@" >> calls; case "$*" in *--jq*) echo "{there}" ;; esac')
    body = tmp_path / "comment.md"
    body.write_text("<!-- portbench speed pr.uf2 -->\nthe table\n")
    context = {"inputs.token": "secret", "github.repository": "a/b", "github.event.pull_request.number": "5"}
    status, said = run_step("Comment", context | {"steps.compare.outputs.report": "."}, tmp_path, environment)
    assert status == 0, said
    asked, written = (tmp_path / "calls").read_text().splitlines()
    assert asked.startswith("<!-- portbench speed pr.uf2 --> api --paginate repos/a/b/issues/5/comments --jq ")
    places = {"COMMENTS": "repos/a/b/issues/5/comments", "ONE": "repos/a/b/issues/comments"}
    wanted = re.sub("COMMENTS|ONE", lambda found: places[found[0]], call)
    assert written == f"<!-- portbench speed pr.uf2 --> {wanted} --field body=@./comment.md"


FIRST, SECOND = (
    yaml.safe_load((ROOT / f"docs/workflows/{name}.yml").read_text()) for name in ("speed", "speed-comment")
)
GH = """
echo "$*" >> calls
case "$*" in
  "run download 77 --name portbench --dir report") cp -r artifact report ;;
  *"pulls/5 --jq .head.sha") echo abc ;;
  *--paginate*) jq -r "${@: -1}" comments.json ;;
esac
"""
CommentOn = Callable[..., tuple[int, list[str], str]]


@pytest.fixture
def comment_on(tmp_path: Path, environment: dict[str, str]) -> CommentOn:
    """The second workflow's step: status, calls of gh that write, and the comment. `there`: author and text of each."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed: it stands for that of gh")
    (tmp_path / "artifact").mkdir(exist_ok=True)
    program(tmp_path, "gh", GH)

    def run(*there: tuple[str, str], head: str = "abc") -> tuple[int, list[str], str]:
        comments = [{"id": n, "user": {"login": user}, "body": body} for n, (user, body) in enumerate(there)]
        (tmp_path / "comments.json").write_text(json.dumps(comments))
        event = {"github.event.workflow_run.id": "77", "github.event.workflow_run.head_sha": head}
        context = event | {"github.token": "secret", "github.repository": "a/b"}
        status, _ = run_step("Comment", context, tmp_path, environment, SECOND["jobs"]["comment"])
        calls = (tmp_path / "calls").read_text().splitlines()
        text = tmp_path / "comment.md"
        return status, [call for call in calls if "--silent" in call], text.read_text() if text.exists() else ""

    return run


def test_a_fork_has_one_comment(tmp_path: Path, environment: dict[str, str], comment_on: CommentOn) -> None:
    job = FIRST["jobs"]["speed"]
    program(tmp_path, "make", 'echo "$*" >> made')
    assert run_step("Build", {}, tmp_path, environment, job)[0] == 0
    assert re.findall(r"-C (\S+)", (tmp_path / "made").read_text()) == ["pr/ports/rp2", "main/ports/rp2"]
    (given,) = (step["with"] for step in job["steps"] if step.get("id") == "compare")
    for name, total_us in (("main", 100_000), ("pr", 103_000)):
        assert given[{"main": "baseline", "pr": "firmware"}[name]].startswith(f"{name}/ports/rp2/build-")
        (tmp_path / f"{name}.json").write_text(storage.to_json(run_of(row(total_us, sim={}))))
    compare = f'{sys.executable} -P -m portbench compare main.json pr.json "${{@:4}}"'
    program(tmp_path, "portbench", f"[ $1 = show ] || exec {compare}")
    context = {f"inputs.{name}": value for name, value in given.items()}
    forked = environment | {"GITHUB_REF": "refs/pull/5/merge", "GITHUB_JOB": "speed"}
    assert run_step("Compare", context, tmp_path, forked)[0] == 1
    (tmp_path / "artifact").rmdir()
    shutil.copytree(context["steps.compare.outputs.report"], tmp_path / "artifact")
    mark = SECOND["jobs"]["comment"]["steps"][0]["env"]["MARK"]
    status, calls, text = comment_on(("stranger", mark), ("github-actions[bot]", "Code size report"))
    assert (status, calls) == (0, ["api --silent repos/a/b/issues/5/comments --field body=@comment.md"])
    assert text.startswith(f"{mark}\n**portbench: 1 of 1 rows slower by more than 2 %.**\n\n| row ")
    assert "SLOWER than 2% allows: by 3.0 % |\n" in text
    shutil.rmtree(tmp_path / "report")
    status, calls, _ = comment_on(("github-actions[bot]", f"{mark}\nold"), ("github-actions[bot]", "Code size report"))
    (changed,) = calls[1:]
    assert status == 0 and changed.startswith("api --silent --method PATCH repos/a/b/issues/comments/0 --field ")


@pytest.mark.parametrize(("number", "head", "status"), [("5; id", "abc", 1), ("-5", "abc", 1), ("5", "def", 0)])
def test_a_forged_number_is_refused(number: str, head: str, status: int, tmp_path: Path, comment_on: CommentOn) -> None:
    (tmp_path / "artifact" / "pull-request").write_text(number)
    assert comment_on(head=head) == (status, [], "")


def test_a_forged_comment_is_plain_text_of_bounded_size(tmp_path: Path, comment_on: CommentOn) -> None:
    (tmp_path / "artifact" / "pull-request").write_text("5")
    forged = "x\n<img src=a> @user [a](https://b) ![c](www.d) #1 &lt; \\ é\n"
    (tmp_path / "artifact" / "comment.md").write_text(forged + "| a | 1 % |\n" * 9000)
    status, calls, text = comment_on()
    mark, line, *table = text.splitlines()
    assert status == 0 and len(calls) == 1 and mark.startswith("<!-- portbench") and len(text) < 61_000
    assert line == "img src=a> user a(https:/ /b) c(www .d) 1 lt;  " and set(table[:-1]) == {"| a | 1 % |"}


def test_the_second_workflow_runs_for_pull_requests_alone_and_may_do_little() -> None:
    job = SECOND["jobs"]["comment"]
    assert SECOND[True]["workflow_run"] == {"workflows": [FIRST["name"]], "types": ["completed"]}
    assert job["if"] == "github.event.workflow_run.event == 'pull_request'"
    assert FIRST["permissions"] == {"contents": "read"} and SECOND["permissions"] == {}
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}


@pytest.mark.parametrize(
    ("ref", "call"),
    [
        ("v1.2.3", "download --quiet --no-deps --no-index"),
        ("main", "wheel --quiet --no-deps"),
    ],
)
def test_a_release_has_wheels_and_another_revision_is_compiled_once(
    ref: str, call: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    made = 'touch "$WHEELS/portbench-1.2.3-py3-none-any.whl" "$WHEELS/portbench_engine-1.2.3-cp311-abi3-any.whl"'
    program(tmp_path, "python3", f'echo "${{@:3}}" >> calls; [ "$3" = install ] || {made}')
    (tmp_path / "pyproject.toml").write_text('name = "portbench"\nversion = "1.2.3"\n')
    context = {"github.action_path": str(tmp_path), "github.action_ref": ref, "inputs.extras": "test"}
    wheels = tmp_path / "portbench" / "wheels"
    install = (
        f"install --quiet {wheels}/portbench_engine-1.2.3-cp311-abi3-any.whl"
        f" {wheels}/portbench-1.2.3-py3-none-any.whl[compare,history,test]"
    )
    status, said = run_step("Install", context, tmp_path, environment)
    assert status == 0, said
    first, second = (tmp_path / "calls").read_text().splitlines()
    assert first.startswith(call) and second == install
    assert ref == "main" or first.endswith("assets/v1.2.3 portbench-engine==1.2.3 portbench==1.2.3")
    assert run_step("Install", context, tmp_path, environment)[0] == 0
    assert (tmp_path / "calls").read_text().splitlines()[2:] == [install]


def test_the_wheels_have_the_name_of_their_sources(tmp_path: Path, environment: dict[str, str]) -> None:
    names = []
    for text in ("one", "one", "two"):
        sources = tmp_path / str(len(names))
        (sources / "engine" / "target").mkdir(parents=True)
        (sources / "engine" / "target" / "built").write_text(str(len(names)))
        (sources / "engine" / "lib.rs").write_text(text)
        context = {"github.action_path": str(sources)}
        assert run_step("Name", context, tmp_path, environment)[0] == 0
        names.append(context["steps.name.outputs.sources"])
    assert names[0] == names[1] != names[2] and re.fullmatch(r"\d+-\d+", names[0])


def workflows() -> list[dict[str, Any]]:
    """Those that pages show or link to, with the action."""
    pages = ("docs/compare.md", "docs/testing-your-app.md")
    texts = [re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL) for page in pages]
    return [FIRST, *(yaml.safe_load(text) for found in texts for text in found)]


def test_the_workflows_of_the_pages_give_what_the_action_takes() -> None:
    steps = [step for flow in workflows() for job in flow["jobs"].values() for step in job["steps"]]
    ours = [step for step in steps if step.get("uses", "").startswith("portbench/portbench@")]
    known = action()["inputs"]
    assert len(ours) == 3 and all(set(step["with"]) <= set(known) for step in ours)
    assert action()["runs"]["using"] == "composite"
    run_here = {"Name", "Install", "Compare", "Comment"}
    assert {step["name"] for step in action()["runs"]["steps"] if "run" in step} == run_here


def test_a_release_is_refused_where_something_has_another_version(tmp_path: Path) -> None:
    """The tag's version is that of both packages, of the pinned actions, and of the changelog's first part."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    pages = ("docs/compare.md", "docs/testing-your-app.md", "docs/workflows/speed.yml")
    pinned = ("pyproject.toml", "engine/pyproject.toml", *pages)
    for path in (".ci/release", *pinned):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text(f"# Changelog\n\n## {version} - 2026-12-01\n\n- one\n\n## 0.1.0 - 2026-11-21\n\n- two\n")

    def release(tag: str) -> subprocess.CompletedProcess[str]:
        return patience.run([sys.executable, tmp_path / ".ci" / "release", tag], 120)

    assert (release(f"v{version}").returncode, release(f"v{version}").stdout) == (0, "- one\n")
    other = release("v9.9.9")
    assert other.returncode == 1
    for path in (*pinned, "CHANGELOG.md"):
        assert f"release: {path}: " in other.stderr, path
    changes.write_text(changes.read_text().replace(f"## {version}", f"## Unreleased\n\n- new\n\n## {version}"))
    assert "give 'Unreleased' that name" in release(f"v{version}").stderr
