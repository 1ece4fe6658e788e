"""What `filedrop check` finds beyond this computer: each account's access point, and all that tells people."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from filedrop.alerts import trial
from filedrop.cli.checking import CONFIGURATION, CheckResult
from filedrop.cli.opening import open_access_point
from filedrop.errors import AccessPointError, ConfigError
from filedrop.model.document import UNREACHABLE_IN
from filedrop.process.lock import is_running
from filedrop.status import daemon_file
from filedrop.status.reasons import asked_again
from filedrop.texts.printable import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.accesspoint import AccessPoint
    from filedrop.config import Account, Config

SKEW = timedelta(minutes=1)  # between the clocks; more makes the times in sidecars misleading


def account(config: Config, account: Account) -> Iterator[CheckResult]:
    """The results for the login at the access point and for its clock."""
    try:
        yield from _login(config, account)
    except ConfigError as error:  # its password or its ca_file can't be read
        yield CheckResult(CONFIGURATION, "failed", str(error))


def _login(config: Config, account: Account) -> Iterator[CheckResult]:
    about = f"account {account.name}"
    known = daemon_file.read(config.state).accounts.get(account.name) if is_running(config.state) is not False else None
    again = asked_again(known, datetime.now().astimezone()) if known else ""
    with open_access_point(account) as access_point:
        try:
            access_point.probe()
        except AccessPointError as error:
            yield CheckResult(about, "failed", f"{error}{again}")
        else:
            how = "over TLS" if account.base_url.startswith("https:") else "without TLS, on this computer only"
            yield CheckResult(about, "ok", f"{account.base_url} accepts the login of {account.username}, {how}")
            if again:
                yield CheckResult(about, "warning", f"the last login of the running filedrop failed{again}")
            yield from _directory(config, account, access_point)
        clock = access_point.clock()
    if clock is not None:
        skew = abs(clock - datetime.now().astimezone())
        said = f"the clocks of the access point and this computer differ by {skew.total_seconds():.0f} s"
        yield CheckResult(
            about, "ok" if skew <= SKEW else "warning", said + ("" if skew <= SKEW else ": set this computer's (NTP)")
        )


def _directory(config: Config, account: Account, access_point: AccessPoint) -> Iterator[CheckResult]:
    """The result for the directory."""
    companies = [company for company in config.companies.values() if company.account == account.name]
    asking = next((company for company in companies if company.directory != "off"), None)
    ours = next((participant for company in companies for participant in company.participants), None)
    if asking is None or ours is None:
        return
    aside = [company.name for company in companies if company.unreachable != "directory"]
    try:
        has = access_point.directory(ours)
    except AccessPointError as error:
        is_own = asking.directory != config.outbound.directory
        key = f"companies.{asking.name}.directory" if is_own else "outbound.directory"
        said = f"{key} is {asking.directory}, but the directory gives no answer: {error}"
        yield CheckResult(f"account {account.name}", "warning", said)
        return
    if aside:
        goes = f"documents to receivers that aren't in the directory go to {UNREACHABLE_IN}/ ({listed(aside)})"
        then = f"has {ours}" if has else f"doesn't have {ours}: nothing is put aside until it has another receiver"
        yield CheckResult(f"account {account.name}", "ok" if has else "warning", f"{goes}; the directory {then}")


def alerts(config: Config) -> Iterator[CheckResult]:
    """The result of each way of alerting people, tried."""
    for about, says, why in trial.attempts(config):
        yield CheckResult(about, "failed" if why else "ok", why or says)
