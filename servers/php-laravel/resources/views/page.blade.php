<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>Orders</title></head>
<body>
<h1>Orders</h1>
<table>
<tr><th>Number</th><th>Name</th><th>Note</th><th>Text</th></tr>
@foreach ($rows as $row)
<tr><td>{{ $row['number'] }}</td><td>{{ $row['name'] }}</td><td>{{ $row['note'] }}</td><td>{{ $row['text'] }}</td></tr>
@endforeach
</table>
</body>
</html>
