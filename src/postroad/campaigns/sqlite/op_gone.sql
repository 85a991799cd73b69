-- One that was begun is over, also when it was queued again since. Without a try: whichever it is.
delete from campaign_op where campaign_id = ?1 and n = ?2 and (?3 = 0 or tries = ?3)
