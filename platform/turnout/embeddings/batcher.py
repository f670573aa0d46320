"""Computes the texts of all requests that wait together, in one thread beside the event loop."""

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from turnout.embeddings.embedder import Embedder, Ids, Vectors


@dataclass(eq=False)
class _Job:
    """One request's texts, and what there is of their vectors."""

    texts: Sequence[Ids]
    done: asyncio.Future[Vectors]
    taken: int = 0
    vectors: list[Vectors] = field(default_factory=list)

    def take(self) -> Ids:
        self.taken += 1
        return self.texts[self.taken - 1]

    def add(self, vector: Vectors) -> None:
        self.vectors.append(vector)
        if len(self.vectors) == len(self.texts) and not self.done.done():
            self.done.set_result(np.stack(self.vectors))


class Batcher:
    """Takes a text of each waiting request in turn, so that long ones do not hold up short ones."""

    def __init__(self, embedder: Embedder, batch_size: int) -> None:
        self._embedder, self._batch_size = embedder, batch_size
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embeddings")
        self._jobs: deque[_Job] = deque()
        self._open = 0
        self.running = 0
        """Requests of which something is being computed."""
        self._work: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Requests that wait for their next text to be computed."""
        return self._open - self.running

    async def vectors(self, texts: Sequence[Ids]) -> Vectors:
        """Returns the vectors of texts, given as token ids, in their order.

        Raises what the model raised. A caller that was cancelled is not worked for any more.
        """
        job = _Job(texts, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._run())
        self._open += 1
        try:
            return await job.done
        finally:
            self._open -= 1

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._next():
            texts = [text for _, text in batch]
            jobs = {job for job, _ in batch}
            self.running = len(jobs)
            try:
                vectors = await loop.run_in_executor(self._thread, self._embedder.encode, texts)
            except Exception as error:  # noqa: BLE001 - whatever a model raises is its callers'
                for job in jobs:
                    if not job.done.done():
                        job.done.set_exception(error)
            else:
                for (job, _), vector in zip(batch, vectors, strict=True):
                    job.add(vector)
            finally:
                self.running = 0

    def _next(self) -> list[tuple[_Job, Ids]]:
        batch: list[tuple[_Job, Ids]] = []
        while self._jobs and len(batch) < self._batch_size:
            job = self._jobs.popleft()
            if job.done.done():  # its caller has left, or the model failed on it
                continue
            batch.append((job, job.take()))
            if job.taken < len(job.texts):
                self._jobs.append(job)
        return batch

    def close(self) -> None:
        """Ends the thread once it has computed its batch."""
        self._thread.shutdown(wait=False, cancel_futures=True)
