-- A lane's circuit from now on.
update postroad.lane set circuit_strikes = $2, circuit_opened = $3, circuit_until = $4,
                         circuit_since = $5, circuit_reason = $6
 where id = $1
