-- When the next scheduled campaign starts.
select coalesce(min(start_at), 0) from campaign where state = 'scheduled' and start_at > ?1
