"""What is answered under `/v1/files` and `/v1/batches`, and to whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.gateway.batches.office import CHAT, line
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import eventually

from turnout.access.caller import Caller
from turnout.batches.sweep import sweep
from turnout.store.tables import files

if TYPE_CHECKING:
    from tests.platform.gateway.batches.office import Office

pytestmark = pytest.mark.parametrize("database", ["sqlite"])
ONE = {"authorization": "Bearer one"}
FORM = {"content-type": "multipart/form-data; boundary=b"}
PURPOSE = b'--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
FILE = b'--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n'
END = b"--b--\r\n"


def file_left(office: Office) -> list[str]:
    """Returns what lies in the folder."""
    return [path.name for path in office.folder.rglob("*") if path.is_file()]


async def asked(office: Office, method: str, path: str, **more: Any) -> httpx.Response:
    headers = {**ONE, **more.pop("headers", {})}
    return await office.system.client.request(method, path, headers=headers, **more)


async def test_an_upload_comes_back_byte_for_byte(office: Office) -> None:
    data = bytes(range(256)) * 5000 + b"\r\n--b--\r\n"
    sent = ("../Grüße.jsonl", data)
    file = await office.client.files.create(file=sent, purpose="batch")
    assert (file.bytes, file.filename, file.purpose) == (len(data), "Grüße.jsonl", "batch")
    assert await office.client.files.retrieve(file.id) == file
    assert (await office.client.files.content(file.id)).content == data


async def test_what_is_answered_is_as_the_openapi_page_says(office: Office) -> None:
    done = await office.over((await office.create([line("a")])).id)
    page = (await asked(office, "GET", "/openapi.json")).json()
    for path, name in (
        ("/v1/files", None),
        ("/v1/batches", None),
        ("/v1/files/{id}", done.input_file_id),
        ("/v1/batches/{id}", done.id),
    ):
        operation = page["paths"][path]["get"]
        told = operation["responses"]["200"]["content"]["application/json"]["schema"]
        answer = await asked(office, "GET", path.replace("{id}", name or ""))
        schema = {**told, "components": page["components"]}
        Draft202012Validator(schema).validate(answer.json())


async def test_a_team_sees_only_what_is_its_own(office: Office, small: FakeEngine) -> None:
    small.stalls = True
    batch = await office.create([line("a")])
    other = office.client_of("other")
    for ask in (
        lambda: other.files.retrieve(batch.input_file_id),
        lambda: other.files.content(batch.input_file_id),
        lambda: other.files.delete(batch.input_file_id),
        lambda: other.batches.retrieve(batch.id),
        lambda: other.batches.cancel(batch.id),
        lambda: other.batches.create(
            input_file_id=batch.input_file_id, endpoint=CHAT, completion_window="24h"
        ),
    ):
        with pytest.raises(openai.NotFoundError):
            await ask()
    assert (await other.files.list()).data == []
    assert (await other.batches.list()).data == []
    assert (await other.files.list(after=batch.input_file_id)).data == []
    await other.close()


async def test_lists_are_read_page_by_page(office: Office, small: FakeEngine) -> None:
    small.stalls = True
    made = [await office.create([line("a")]) for _ in range(5)]
    names = [each.id for each in made]
    assert [each.id async for each in office.client.batches.list(limit=2)] == names[::-1]
    inputs = [each.input_file_id for each in made]
    pages = office.client.files.list(limit=2, order="asc")
    assert [each.id async for each in pages] == inputs
    assert [each.id async for each in office.client.files.list(limit=3)] == inputs[::-1]
    assert [each.id async for each in office.client.files.list(purpose="batch_output")] == []


async def test_a_file_that_is_deleted_is_gone(office: Office) -> None:
    name = await office.upload([line("a")])
    assert (await office.client.files.delete(name)).deleted
    with pytest.raises(openai.NotFoundError):
        await office.client.files.content(name)
    assert file_left(office) == []


async def test_a_file_that_a_batch_reads_stays(office: Office, small: FakeEngine) -> None:
    small.stalls = True
    batch = await office.create([line("a")])
    with pytest.raises(openai.ConflictError, match=batch.id):
        await office.client.files.delete(batch.input_file_id)
    await office.client.batches.cancel(batch.id)
    await office.over(batch.id)
    assert (await office.client.files.delete(batch.input_file_id)).deleted


async def test_a_batch_that_is_over_cannot_be_cancelled(office: Office) -> None:
    batch = await office.over((await office.create([line("a")])).id)
    with pytest.raises(openai.ConflictError, match="completed"):
        await office.client.batches.cancel(batch.id)


async def test_files_go_when_their_time_has_come(office: Office, store: AsyncEngine) -> None:
    kept, due = await office.upload(b"1\n"), await office.upload(b"2\n")
    async with store.begin() as connection:
        await connection.execute(update(files).where(files.c.id == due).values(expires_at_s=5.0))
    with pytest.raises(openai.NotFoundError):
        await office.client.files.retrieve(due)
    worker = office.desk._worker
    assert worker is not None
    await sweep(store, worker.means.folder, 6.0)
    assert file_left(office) == [kept]


@pytest.mark.parametrize(
    ("fields", "kept_s"),
    [({}, 30 * 86_400), ({"seconds": 3600}, 3600), ({"seconds": 10**8}, 30 * 86_400)],
)
async def test_a_file_is_kept_as_long_as_asked_but_no_longer_than_set(
    office: Office, fields: dict[str, int], kept_s: int
) -> None:
    more: Any = {"expires_after": {"anchor": "created_at", **fields}} if fields else {}
    file = await office.client.files.create(file=b"x", purpose="batch", **more)
    assert file.expires_at is not None
    assert file.expires_at - file.created_at == kept_s


@pytest.mark.parametrize(
    ("headers", "body", "status", "told"),
    [
        ({"content-type": "application/json"}, b"{}", 400, "it is no form"),
        ({"content-type": "multipart/form-data"}, b"", 400, "it is no form"),
        ({"content-type": f"multipart/form-data; boundary={'b' * 300}"}, b"x", 400, "its parts"),
        (FORM, b"nonsense", 400, "its parts"),
        (FORM, PURPOSE + FILE, 400, "it breaks off"),
        (FORM, PURPOSE + END, 400, "it has no file"),
        (FORM, PURPOSE + FILE + FILE + END, 400, "it has two files"),
        (FORM, FILE + END, 400, "'purpose'"),
        (FORM, PURPOSE.replace(b"batch", b"batch_output") + FILE + END, 400, "'purpose'"),
        (FORM, PURPOSE.replace(b"batch", b"x" * 2000) + FILE + END, 400, "longer than 1024"),
        (FORM, PURPOSE * 17 + FILE + END, 400, "more than 16 parts"),
        (FORM, PURPOSE.replace(b"purpose", b"other") + FILE + END, 400, "'other'"),
        (FORM, b"--b\r\n" + b"x-h: y\r\n" * 999 + b"\r\n" + FILE + END, 400, "its parts"),
        (FORM, PURPOSE + FILE.replace(b"x\r\n", b"x" * 1001 + b"\r\n") + END, 413, "1000 bytes"),
    ],
)
async def test_an_upload_that_is_not_right_leaves_nothing(
    office: Office, headers: dict[str, str], body: bytes, status: int, told: str
) -> None:
    await office.configure(max_file_bytes=1000)
    answer = await asked(office, "POST", "/v1/files", headers=headers, content=body)
    assert (answer.status_code, file_left(office)) == (status, [])
    assert told in answer.json()["error"]["message"]


async def test_a_client_that_leaves_amid_its_upload_leaves_nothing(office: Office) -> None:
    head = (
        b"POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer one\r\n"
        b"content-type: multipart/form-data; boundary=b\r\ncontent-length: 9000\r\n\r\n"
    )
    await office.system.leave(head + PURPOSE + FILE, lambda: bool(file_left(office)))
    await eventually(lambda: not file_left(office))


async def test_a_team_keeps_no_more_than_it_may(office: Office) -> None:
    await office.configure(max_team_bytes=10)
    name = await office.upload(b"0123456789\n")
    with pytest.raises(openai.APIStatusError, match="delete some first") as caught:
        await office.upload(b"x\n")
    assert caught.value.status_code == 413
    await office.client.files.delete(name)
    await office.upload(b"x\n")


@pytest.mark.parametrize(
    ("changes", "status", "told"),
    [
        ({"input_file_id": "file-none"}, 404, "no such file"),
        ({"input_file_id": "file-\x00"}, 400, "'input_file_id'"),
        ({"input_file_id": "file-none\n"}, 400, "'input_file_id'"),
        ({"endpoint": "/v1/audio/speech"}, 400, "'endpoint'"),
        ({"completion_window": "1h"}, 400, "'completion_window'"),
        ({"metadata": {"a": 1}}, 400, "'metadata.a'"),
        ({"metadata": {str(n): "" for n in range(17)}}, 400, "'metadata'"),
        ({"metadata": {"a": "x" * 513}}, 400, "'metadata'"),
        ({"unknown": 1}, 400, "'unknown'"),
    ],
)
async def test_a_batch_that_cannot_be_is_refused(
    office: Office, changes: dict[str, Any], status: int, told: str
) -> None:
    file = await office.upload([line("a")])
    body = {"input_file_id": file, "endpoint": CHAT, "completion_window": "24h", **changes}
    answer = await asked(office, "POST", "/v1/batches", content=json.dumps(body))
    assert answer.status_code == status
    assert told in answer.json()["error"]["message"]


async def test_a_batch_whose_body_trickles_in_is_cut_off(office: Office) -> None:
    office.system.configure(limits={"body_timeout_s": 0.1}, batches={"lease_s": 1})
    await office.desk.configure(office.system.gateway._catalog.settings)
    head = b"POST /v1/batches HTTP/1.1\r\nhost: x\r\nauthorization: Bearer one\r\n"
    reader, writer = await office.system.connect(head + b"content-length: 9\r\n\r\n{")
    assert (await reader.readline()).split()[1] == b"408"
    writer.close()
    await writer.wait_closed()


async def test_results_are_no_input(office: Office) -> None:
    done = await office.over((await office.create([line("a")])).id)
    assert done.output_file_id is not None
    with pytest.raises(openai.BadRequestError, match="purpose 'batch'"):
        await office.client.batches.create(
            input_file_id=done.output_file_id, endpoint=CHAT, completion_window="24h"
        )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/v1/files", 405),
        ("POST", "/v1/files/x", 405),
        ("DELETE", "/v1/batches/x", 405),
        ("GET", "/v1/batches/x/cancel", 405),
        ("GET", "/v1/files/x/cancel", 404),
        ("GET", "/v1/filesystem", 404),
        ("GET", "/v1/files/x/content/y", 404),
        ("GET", "/v1/files/../../etc/passwd", 404),
        ("GET", "/v1/files/%00", 404),
        ("GET", "/v1/files?limit=0", 400),
        ("GET", "/v1/files?limit=x", 400),
        ("GET", "/v1/files?order=up", 400),
        ("GET", "/v1/files?after=%00", 400),
        ("GET", "/v1/files?after=%FF", 400),
        ("GET", "/v1/batches?limit=101", 400),
        ("GET", "/v1/batches?purpose=x", 400),
        ("GET", "/v1/batches?after=batch_none", 200),
    ],
)
async def test_other_paths_and_methods_are_refused(
    office: Office, method: str, path: str, status: int
) -> None:
    assert (await asked(office, method, path)).status_code == status


async def test_a_key_needs_the_scope_batch(office: Office) -> None:
    office.keys.callers["one"] = Caller("one", "team-one", frozenset({"inference", "usage"}))
    for path in ("/v1/files", "/v1/batches"):
        answer = await asked(office, "GET", path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "insufficient_scope")
        assert (await office.system.client.get(path)).status_code == 401


async def test_a_gateway_without_batches_says_so(office: Office) -> None:
    office.system.configure(batches=None)
    await office.desk.configure(office.system.gateway._catalog.settings)
    answer = await asked(office, "GET", "/v1/batches")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "batches_not_kept")


async def test_a_store_that_is_away_is_told_for_a_while(office: Office) -> None:
    async with office.store.begin() as connection:
        await connection.execute(update(files).values(bytes=0))
        await connection.exec_driver_sql("ALTER TABLE files RENAME TO away")
    answer = await asked(office, "GET", "/v1/files")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
