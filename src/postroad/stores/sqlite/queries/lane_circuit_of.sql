-- A lane's circuit, and whether it is paused.
select circuit_strikes, circuit_opened, circuit_until, circuit_since, circuit_reason, paused_at
  from lane where id = ?1
