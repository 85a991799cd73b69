-- How many messages are finished, by server and state.
select l.server, h.state, count(*)
  from history h join queue_lane ql on ql.queue_id = h.queue_id and ql.shard = 0
  join lane l on l.id = ql.lane_id
 group by l.server, h.state
union all
select l.server, 'dead', count(*) from dead d join lane l on l.id = d.lane_id group by l.server
