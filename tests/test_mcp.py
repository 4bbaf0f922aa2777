"""The MCP server, asked by the client of the official SDK over standard input and output."""

import asyncio
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests import patience
from tests.conftest import Image

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
LIMIT_S = 240
Ask = Callable[..., Coroutine[Any, Any, Any]]


def talk(folder: Path, talking: Ask) -> None:
    """Give `talking` a function that calls a tool. A refusal comes as its line, any other answer as data."""
    from mcp import Client  # not at the top: it takes a second of each worker
    from mcp.client.stdio import StdioServerParameters

    variables = os.environ | {"PORTBENCH_RUNTIME_DIR": str(folder / "run"), "PORTBENCH_OFFLINE": "1"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "portbench.mcp"], env=variables, cwd=folder)

    async def session() -> None:
        async with Client(server, read_timeout_seconds=LIMIT_S) as client:

            async def ask(tool: str, heard: Any = None, **arguments: Any) -> Any:
                answer = await client.call_tool(tool, arguments, progress_callback=heard)
                if answer.is_error:
                    return answer.content[0].text.removeprefix(f"Error executing tool {tool}: ")
                found = answer.structured_content
                return found["result"] if set(found) == {"result"} else found

            named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
            assert {tool.name for tool in (await client.list_tools()).tools} == named
            await talking(ask)

    asyncio.run(session())


def test_a_client_chooses_measures_explains_and_compares(tmp_path: Path) -> None:
    heard: list[str] = []

    async def hear(*progress: Any) -> None:
        heard.append("{:g} of {:g}: {}".format(*progress))

    async def talking(ask: Ask) -> None:
        assert (await ask("advise", board="RPI_PICO_W"))["board"] == "RPI_PICO_W"
        assert (await ask("advise", board="NANO")).startswith("unknown board 'NANO'; choose one of ")
        assert "ping_pong" in {each["name"] for each in await ask("list", what="workloads")}
        assert (await ask("run", settings=["x=6"])).startswith("unknown setting 'x'; ")
        rows = (await ask("run", hear, runtimes=["portbench-native"], settings=["messages=6"], runs=2))["rows"]
        assert [row["status"] for row in rows] == ["measured"] * 2 and rows[0]["value"] > 0
        assert heard == [f"{n} of 2: portbench-native tuned ping_pong {n}/2: measured" for n in (1, 2)]
        explained = await ask("explain", row="portbench-native")
        assert explained["measured"] and explained["sentences"] and explained["attributed_share"] == 1
        (same,) = await ask("compare", before="latest", after="latest")
        assert same["slower"] == 0 and not same["differs"]
        assert (await ask("compare", before="latest", after="no-run")).startswith("no-run: is not a run file, a name")
        assert "unknown runtime or .uf2 file 'nothing'" in await ask("flash", runtime="nothing")

    talk(tmp_path, talking)


def test_a_client_flashes_a_desk_and_uses_its_console_and_pins(tmp_path: Path, image: Image) -> None:
    path = image("micropython-pico-1.26.1")

    async def talking(ask: Ask) -> None:
        assert (await ask("desk_console")).startswith("desk: has no console; ")
        assert await ask("desk", board="RPI_PICO") == {"device": "usb:desk"}
        assert await ask("desk", board="RPI_PICO") == "desk: runs already; choose another name"
        flashed = await ask("flash", runtime=str(path), board="RPI_PICO", device="usb:desk")
        assert flashed["alive"] and "micropython 1.26.1 answers" in flashed["lines"][0]
        assert [each["device"] for each in await ask("list", what="attached")] == ["usb:desk"]
        pins = await ask("desk_pins", changes=["GP15=high", "GP2:GP3"])
        assert "GP15 high  held at high" in pins["pins"] and pins["wires"] == [[2, 3]]
        assert await ask("desk_pins", changes=["GP99=high"]) == "'GP99' is not a pin; use GP0 to GP29"
        line, until = "import machine; print('pin', machine.Pin(15).value())\r", "pin 1\r\n>>> "
        shown = await ask("desk_console", name="usb:desk", text=line, until=until, seconds=LIMIT_S)
        assert shown["found"] and shown["printed"].endswith(f"{line}\n{until}")

    talk(tmp_path, talking)


def test_the_page_and_a_missing_sdk_name_what_to_install() -> None:
    (entry,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert json.loads(entry)["mcpServers"]["portbench"]["command"] in scripts and "[mcp]'" in PAGE
    program = "import sys; sys.modules['mcp'] = None; import portbench.mcp"
    done = patience.run([sys.executable, "-c", program], LIMIT_S)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert re.match(r"portbench: portbench-mcp needs mcp\S*; install it: pip install .*\[mcp\]'", done.stderr)
