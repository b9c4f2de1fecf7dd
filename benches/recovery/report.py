"""The output of a run: the table, the problems behind panpan, and the missed goals."""

MEDIAN_BYTES = 700
LARGEST_BYTES = 4096
WASTED_IN_ALL = 3
HEADINGS = ["behind", "agent", "right", "wasted", "doubled", "secrets", "bytes: median", "largest"]


def table(scores, mode, count, seconds):
    rows = [HEADINGS]
    for (name, agent), score in scores.items():
        rows.append(
            [
                name,
                agent,
                f"{score.right}/{count}",
                str(score.wasted),
                str(score.doubled),
                str(score.secrets),
                str(score.median_bytes),
                str(score.largest_bytes),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [f"{mode}: {count} scenarios, {seconds:.0f} s"]
    for row in rows:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def panpan_details(scores):
    """Each scenario behind panpan with a wrong ending, wasted calls or other problems, with the agents it concerns."""
    found = {}
    for (name, agent), score in scores.items():
        if name != "panpan":
            continue
        for verdict in score.verdicts:
            for complaint in complaints(verdict):
                found.setdefault((verdict.scenario, complaint), []).append(agent)
    lines = [
        f"  {scenario} ({', '.join(agents)}): {complaint}"
        for (scenario, complaint), agents in sorted(found.items())
    ]
    return "\n".join(["behind panpan:", *lines]) + "\n" if lines else ""


def complaints(verdict):
    if not verdict.is_right:
        yield verdict.reason
    if verdict.wasted:
        yield f"{verdict.wasted} of {verdict.calls} calls wasted"
    if verdict.secrets:
        yield f"secrets seen: {', '.join(verdict.secrets)}"
    if max(verdict.bytes_read, default=0) > LARGEST_BYTES:
        yield f"{max(verdict.bytes_read)} bytes to read"


def goals_missed(scores, mode):
    lanes = {agent: score for (name, agent), score in scores.items() if name == "panpan"}
    for agent, score in lanes.items():
        for what, found, wanted, is_met in [
            ("right endings", score.right, len(score.verdicts), score.right == len(score.verdicts)),
            ("effects doubled", score.doubled, 0, score.doubled == 0),
            ("secrets seen", score.secrets, 0, score.secrets == 0),
            ("median bytes", score.median_bytes, MEDIAN_BYTES, score.median_bytes <= MEDIAN_BYTES),
            ("largest bytes", score.largest_bytes, LARGEST_BYTES, score.largest_bytes <= LARGEST_BYTES),
        ]:  # fmt: skip
            if not is_met:
                yield f"{mode}, {agent}: {what} {found}, wanted {wanted}"
    wasted = sum(score.wasted for score in lanes.values())
    if wasted > WASTED_IN_ALL:
        yield f"{mode}: calls wasted {wasted} in all, wanted at most {WASTED_IN_ALL}"
