-- A lane's circuit and lost leases from now on.
update lane set circuit_strikes = ?2, circuit_opened = ?3, circuit_until = ?4, circuit_since = ?5,
                circuit_reason = ?6, crashes = ?7, circuit_early = ?8
 where id = ?1
