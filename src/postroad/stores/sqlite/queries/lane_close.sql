-- A lane's circuit is closed by hand.
update lane set circuit_strikes = 0, circuit_opened = 0, circuit_until = 0, circuit_since = 0,
                circuit_reason = ''
 where id = ?1
