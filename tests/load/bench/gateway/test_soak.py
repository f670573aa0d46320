"""What a soak's table says of the looks it was made of."""

from __future__ import annotations

from turnout_load.bench.gateway.soak import ALL, Look, rows


def looks(grows_mb: float, more_descriptors: int) -> list[Look]:
    """Half minutes of a process that rises by 100 MB in its first five minutes, whatever then."""
    found = []
    for number in range(61):
        at_s = 30.0 * number
        warm_mb = 100 + min(at_s, 300) / 3
        later = max(0, number - 14) / 46  # from the last of the first looks to the end
        rss = {"gateway": warm_mb + later * grows_mb, "gcs": 10.0}
        opened = {"gateway": 40 + round(later * more_descriptors), "gcs": 5}
        found.append(
            Look(
                at_s,
                {**rss, ALL: sum(rss.values())},
                {**opened, ALL: sum(opened.values())},
            )
        )
    return found


def test_what_comes_while_it_warms_up_is_no_growth() -> None:
    assert rows(looks(0, 0)) == [
        [ALL, 210.0, 210.0, 0.0, 45, 45],
        ["gateway", 200.0, 200.0, 0.0, 40, 40],
        ["gcs", 10.0, 10.0, 0.0, 5, 5],
    ]


def test_what_grows_later_is_seen_and_where() -> None:
    total, gateway, gcs = rows(looks(grows_mb=46, more_descriptors=23))
    assert total[1:3] == [210.0, 254.0]  # the middle one of the last five looks
    assert gateway == ["gateway", 200.0, 244.0, 22.0, 40, 62]
    assert gcs[3] == 0.0
