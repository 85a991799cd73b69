-- The database's time.
select postroad.now_ms()
