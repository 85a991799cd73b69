-- A campaign's jobs change their states.
update job set state = ?2 where campaign_id = ?1 and state in (select value from json_each(?3))
